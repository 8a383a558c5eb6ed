"""Judge after each iteration whether to go on.

What is scored and when to stop is decided by methods of scikit-learn's estimators; here
they are given raw predictions that are kept up to date.
"""

from sklearn_bandit._compat import (
    SCORERS,
    check_early_stopping_loss,
    check_early_stopping_scorer,
    get_small_trainset,
    stopping_scorer,
)


class EarlyStopping:
    """Scores after each iteration, and whether they say to stop.

    Parameters
    ----------
    model : BanditBoosting
        The estimator that is being fitted; its scores are appended to.
    booster : Booster
        Has the training data and their raw predictions.
    held_out : TrainingRows or None
        Validation data.
    is_warm : bool
        Whether there are trees already.
    n_threads : int
        Threads to use.
    """

    def __init__(self, model, booster, held_out, is_warm, n_threads):
        self.model = model
        self.booster = booster
        self.n_threads = n_threads
        self.held_out = held_out
        if not model.do_early_stopping_:
            return
        self.by_loss = isinstance(model.scoring, str) and model.scoring == "loss"
        # Scorers by name see the raw predictions that are kept up to date anyway.
        self.by_raw = self.by_loss or (
            isinstance(model.scoring, str) and model.scoring in SCORERS
        )
        if not self.by_loss:
            y, _, weights = booster.scored()
            self.small = get_small_trainset(
                model,
                booster.data.columns[:, : len(y)].T,
                y,
                weights,
                model._random_seed,
            )
            model._scorer = stopping_scorer(model)
        else:
            model._scorer = None
        if not is_warm:
            self._score()

    def judge(self, trees):
        """Score after the trees of one more iteration; return whether to stop."""
        if not self.model.do_early_stopping_:
            return False
        if self.held_out is not None and self.by_raw:
            self.held_out.add(trees)
        return self._score()

    def close(self):
        """Return the state of the booster after the last iteration that counts."""
        return self.booster.state

    def _score(self):
        model, booster = self.model, self.booster
        y, raw, weights = booster.scored()
        bins_val = y_val = raw_val = weights_val = None
        if self.held_out is not None:
            bins_val = self.held_out.columns.T
            y_val, raw_val, weights_val = self.held_out.part(slice(None))
        if self.by_loss:
            return check_early_stopping_loss(
                model,
                raw_predictions=raw,
                y_train=y,
                sample_weight_train=weights,
                raw_predictions_val=raw_val,
                y_val=y_val,
                sample_weight_val=weights_val,
                n_threads=self.n_threads,
            )
        bins, y, weights, rows = self.small
        is_own = "_raw_predict" in vars(model)
        try:
            return check_early_stopping_scorer(
                model,
                bins,
                y,
                weights,
                bins_val,
                y_val,
                weights_val,
                raw_predictions_small_train=raw[rows] if self.by_raw else None,
                raw_predictions_val=raw_val if self.by_raw else None,
            )
        finally:
            # scikit-learn leaves the bound method behind as an attribute: a copy of
            # the model would predict by the model that it was copied from.
            if not is_own:
                vars(model).pop("_raw_predict", None)
