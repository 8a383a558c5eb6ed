"""Scorers that hand on what every held-out sample contributed."""

from .._compat import metric_of, named_scorers, with_metric, with_named_scorers
from .._core.contributions import RecordedMetric, default_metric


def record(scorers, raced):
    """Return scorers with the same values, one of which has contributions.

    Parameters
    ----------
    scorers : callable
        What a search scores with: one scorer, or scikit-learn's own collection of them.
    raced : str
        Name of the scorer that decides, of a collection.

    Returns
    -------
    callable
        A copy. Functions of the user's own are returned as they are.
    """
    by_name = named_scorers(scorers)
    if by_name is None:
        return _record_one(scorers)
    if raced not in by_name:
        return scorers
    by_name = {**by_name, raced: _record_one(by_name[raced])}
    return with_named_scorers(scorers, by_name)


def _record_one(scorer):
    metric = metric_of(scorer)
    return scorer if metric is None else with_metric(scorer, RecordedMetric(metric))


class DefaultScorer:
    """The estimator's own `score`, with contributions where it is a mixin's.

    Parameters
    ----------
    scorer : callable
        Scikit-learn's scorer that calls `score`.
    """

    def __init__(self, scorer):
        self.scorer = scorer

    def __call__(self, estimator, *args, **options):
        """Return the score."""
        metric = default_metric(estimator)
        if metric is None or len(args) != 2 or set(options) - {"sample_weight"}:
            return self.scorer(estimator, *args, **options)
        X, y = args
        return RecordedMetric(metric)(y, estimator.predict(X), **options)

    def __getattr__(self, name):
        # Routing of metadata is the scorer's own.
        if name == "scorer":  # while unpickling
            raise AttributeError(name)
        return getattr(self.scorer, name)

    def __repr__(self):
        return repr(self.scorer)
