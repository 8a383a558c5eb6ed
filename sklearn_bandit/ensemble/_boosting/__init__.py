"""Histogram gradient boosting, from raw values to trees.

Data flows one way:

1. ``_thresholds`` finds scikit-learn's bin thresholds. ``_working_set`` has the rows
   that trees are fitted to, all or as many as ``_sampling`` has drawn by then:
   ``_binning`` assigns their values to bins, one byte a value, column by column, and
   ``_routing`` takes rows that join through the trees that there are.
2. ``_layout`` decides how rows are read: features in groups whose histograms fit the
   cache, features of which few combinations occur as one (``_bundles``), features with
   one frequent bin as lists of their other bins only. ``_rows`` writes the rows in that
   form.
3. ``_grower`` grows one tree, best leaf first: ``_histogram`` sums gradients and
   hessians of a node by bin, ``_splits`` finds the best split in them, ``_partition``
   sorts the rows into its sides.
4. ``_losses`` computes gradients and hessians of the logistic losses (the others are
   scikit-learn's); ``_booster`` adds trees that see all rows, ``_sampled_booster``
   trees that see samples.
5. ``_early_stopping`` judges when to stop, ``_predictor`` hands the trees over, and
   ``_hist_gradient_boosting`` (one level up) has the estimators.

All threads are those of one OpenMP, also for what numpy and scikit-learn compute
(``sklearn_bandit._core.tasks``). The trees of an iteration, one for each class, are grown
side by side. Losses, predictors and everything after fitting are scikit-learn's.
"""
