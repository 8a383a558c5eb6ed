"""Histogram gradient boosting, from raw values to trees.

Data flows one way, through three rooms:

1. ``_data`` puts values into bins of one byte and lays the rows out. ``_sampling`` has
   the rows that trees see: all, or a working set and samples of it.
2. ``_growing`` grows one tree, best leaf first, from gradients and hessians, and hands
   it over to scikit-learn.
3. ``losses`` computes gradients and hessians of the logistic losses (the others are
   scikit-learn's); ``booster`` adds trees that see all rows, ``sampled_booster`` trees
   that see samples; ``early_stopping`` judges when to stop.

``_hist_gradient_boosting`` (one level up) has the estimators, whose ``fit`` is in
``fitting``. ``policy`` has the numbers by which "auto" decides, ``_common`` those that
several kernels share. What a fitted model predicts goes through a fourth room,
``_prediction``.

All threads are those of one OpenMP, also for what numpy and scikit-learn compute
(``sklearn_bandit._core.tasks``). The trees of an iteration, one for each class, are
grown side by side; ``thread_choice`` says how many threads share a single one. Losses,
predictors and everything else after fitting are scikit-learn's.
"""
