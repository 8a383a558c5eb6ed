"""Histogram gradient boosting, from raw values to trees.

Data flows one way:

1. ``bin_mapper`` finds scikit-learn's bin thresholds. ``training_rows`` has the rows
   that trees are fitted to, all or as many as ``row_sampling`` has drawn by then:
   ``bin_values`` assigns their values to bins, one byte a value, column by column, and
   ``leaf_router`` takes rows that join through the trees that there are.
2. ``layout`` decides how rows are read: features in groups whose histograms fit the
   cache, features of which few combinations occur as one (``bundles``), features with
   one frequent bin as lists of their other bins only. ``row_lists`` writes the rows in
   that form.
3. ``grower`` grows one tree, best leaf first, within ``growth_options``: ``histogram``
   sums gradients and hessians of a node by bin, ``split_search`` takes the features
   (``feature_choice`` says which) and ``splits`` finds the best split of one,
   ``partition`` sorts the rows into its sides, ``tree_nodes`` keeps the nodes.
4. ``losses`` computes gradients and hessians of the logistic losses (the others are
   scikit-learn's); ``booster`` adds trees that see all rows, ``sampled_booster``
   trees that see samples, which ``importance`` draws. ``row_weight`` tells whether a
   few rows decide everything.
5. ``early_stopping`` judges when to stop, ``predictor`` hands the trees over, and
   ``_hist_gradient_boosting`` (one level up) has the estimators, whose ``fit`` is in
   ``fitting``. ``policy`` has the numbers by which "auto" decides.

All threads are those of one OpenMP, also for what numpy and scikit-learn compute
(``sklearn_bandit._core.tasks``). The trees of an iteration, one for each class, are
grown side by side. Losses, predictors and everything after fitting are scikit-learn's.
"""
