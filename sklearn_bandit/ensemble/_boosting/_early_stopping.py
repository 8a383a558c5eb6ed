"""Judge after each iteration whether to go on.

What is scored and when to stop is decided by methods of scikit-learn's estimators; here
they are given raw predictions that are kept up to date.
"""

from sklearn.metrics import check_scoring

from sklearn_bandit._compat import SCORERS

from ._booster import add_predictions, bin_values


class EarlyStopping:
    """Scores after each iteration, and whether they say to stop.

    Parameters
    ----------
    model : BanditBoosting
        The estimator that is being fitted; its scores are appended to.
    booster : Booster
        Has the training data and their raw predictions.
    held_out : tuple of (X, y, sample_weight) or None
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
        self.columns = self.y = self.sample_weight = self.raw = None
        if not model.do_early_stopping_:
            return
        self.by_loss = isinstance(model.scoring, str) and model.scoring == "loss"
        # Scorers by name see the raw predictions that are kept up to date anyway.
        self.by_raw = self.by_loss or (
            isinstance(model.scoring, str) and model.scoring in SCORERS
        )
        if held_out is not None:
            X, self.y, self.sample_weight = held_out
            self.columns, _ = bin_values(X, model._bin_mapper, n_threads)
            self.raw = (
                model._raw_predict(self.columns.T, n_threads=n_threads)
                if is_warm
                else model._baseline(len(self.y))
            )
        if not self.by_loss:
            self.small = model._get_small_trainset(
                booster.columns.T, booster.y, booster.sample_weight, model._random_seed
            )
            model._scorer = check_scoring(model, model.scoring)
        else:
            model._scorer = None
        if not is_warm:
            self._score()

    def judge(self, trees):
        """Score after the trees of one more iteration; return whether to stop."""
        if not self.model.do_early_stopping_:
            return False
        if self.columns is not None and self.by_raw:
            add_predictions(
                self.columns, trees, self.raw, self.booster.missing_bin, self.n_threads
            )
        return self._score()

    def _score(self):
        model, booster = self.model, self.booster
        if self.by_loss:
            raw, y, sample_weight = booster.training_scores()
            return model._check_early_stopping_loss(
                raw_predictions=raw,
                y_train=y,
                sample_weight_train=sample_weight,
                raw_predictions_val=self.raw,
                y_val=self.y,
                sample_weight_val=self.sample_weight,
                n_threads=self.n_threads,
            )
        bins, y, sample_weight, rows = self.small
        return model._check_early_stopping_scorer(
            bins,
            y,
            sample_weight,
            None if self.columns is None else self.columns.T,
            self.y,
            self.sample_weight,
            raw_predictions_small_train=(
                booster.raw[rows] if self.by_raw and booster.raw_is_current else None
            ),
            raw_predictions_val=self.raw if self.by_raw else None,
        )
