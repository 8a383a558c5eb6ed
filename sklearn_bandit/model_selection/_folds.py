"""One fold at a time: the splitter that a race gives to scikit-learn's search."""

import numpy as np
from sklearn import model_selection

# Splitters whose folds hold single samples, not groups or spans of time. Only samples
# that stand for their fold tell the effect of folds after a single one.
SAMPLE_SPLITTERS = (
    model_selection.KFold,
    model_selection.StratifiedKFold,
    model_selection.RepeatedKFold,
    model_selection.RepeatedStratifiedKFold,
    model_selection.ShuffleSplit,
    model_selection.StratifiedShuffleSplit,
    model_selection.LeaveOneOut,
    model_selection.LeavePOut,
)

# Folds that candidates are fitted on at least where folds are anything else.
MIN_OTHER_FOLDS = 3


class FoldByFold:
    """A splitter with a single split: the present fold of another splitter.

    Parameters
    ----------
    splitter : splitter
        The splitter of the full search.

    Attributes
    ----------
    n_folds : int
        Number of folds; known after the first split.
    order : ndarray of shape (n_folds,)
        The order in which the race takes the folds. It is drawn, so that folds which
        follow the order of the samples are a random sample of all folds; it is always
        the same, so that searches can be repeated.
    present : int
        Place in `order` of the fold that `split` yields.
    """

    def __init__(self, splitter):
        self.splitter = splitter
        self.n_folds = None
        self.order = None
        self.present = 0
        self._splits = None

    def split(self, X, y=None, **params):
        """Yield the training and test samples of the present fold."""
        if self._splits is None:
            splits = list(self.splitter.split(X, y, **params))
            expected = self.splitter.get_n_splits(X, y, **params)
            if len(splits) != expected:
                raise ValueError(
                    "cv.split and cv.get_n_splits return inconsistent results. "
                    f"Expected {expected} splits, got {len(splits)}"
                )
            self._splits = splits
            self.n_folds = len(splits)
            self.order = np.random.RandomState(0).permutation(len(splits))
        if self._splits:
            yield self._splits[self.order[self.present]]

    def min_folds(self):
        """Return how many folds it takes before samples can be trusted."""
        return 1 if type(self.splitter) in SAMPLE_SPLITTERS else MIN_OTHER_FOLDS

    def get_n_splits(self, X=None, y=None, **params):
        """Return 1: the search sees one fold at a time."""
        return 1

    def forget(self):
        """Let go of the folds."""
        self._splits = None

    def __getattr__(self, name):
        # Routing of metadata is the splitter's own.
        if name == "splitter":  # while unpickling
            raise AttributeError(name)
        return getattr(self.splitter, name)

    def __getstate__(self):
        # Travels with every fit; the folds need not.
        return {**self.__dict__, "_splits": None}
