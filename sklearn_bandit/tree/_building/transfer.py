"""A training set on its way to other processes: each byte once, nothing twice.

Processes of this machine map a file. To others it is sent, without what can be made
again: columns are rows transposed, codes and centred targets follow from what is sent.
Raw values go along only if trees look at them.
"""

from copy import copy
from pathlib import Path

import joblib
import numpy as np

from sklearn_bandit._core.matrix import MatrixView
from sklearn_bandit.tree._data.packed_rows import PackedData, as_read

from .build import make_ranker
from .training_set import TrainingSet

# Bytes that a file is said to have. Backends of joblib send what has more than 1,000
# once to a worker, which keeps it, and all else with every task: a file that was mapped
# anew for every tree made a forest take fifteen times as long.
FILE_BYTES = 1024


class TrainingSetFile:
    """Stands for a training set in a file, which every process maps once.

    Parameters
    ----------
    path : str
        The file.

    Attributes
    ----------
    training_set : TrainingSet
        The training set; its arrays are mapped.
    """

    def __init__(self, path):
        self.path = path
        self.training_set = joblib.load(path, mmap_mode="r")

    @classmethod
    def write(cls, folder, training_set, tree):
        """Write a training set to a file of a folder.

        Parameters
        ----------
        folder : str
            A folder that the other processes see.
        training_set, tree
            As for `TrainingSetTransfer`.

        Returns
        -------
        TrainingSetFile
        """
        written = copy(training_set)
        if not sends_values(training_set, tree):
            written.packed = copy(training_set.packed)
            written.packed.raw = None
        path = str(Path(folder, "training_set"))
        joblib.dump(written, path)
        return cls(path)

    def __sizeof__(self):
        return FILE_BYTES

    def __reduce__(self):
        return TrainingSetFile, (self.path,)


def is_mapped(training_set):
    """Whether the bins of a training set are in a file already."""
    array = training_set.packed.rows
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def sends_values(training_set, tree):
    """Whether a tree looks at raw values of a training set."""
    has_values = training_set.packed.raw is not None
    return has_values and make_ranker(tree, training_set) is not None


class TrainingSetTransfer:
    """Stands for a training set that is sent, and becomes it in another process.

    Parameters
    ----------
    training_set : TrainingSet
        The training set.
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        One of the trees that are to grow: tells whether raw values are looked at.
    """

    def __init__(self, training_set, tree):
        self.training_set = training_set
        self.sends_values = sends_values(training_set, tree)

    def __sizeof__(self):
        # What dask asks before it decides to send something once a worker.
        return sum(part.nbytes for part in self._targets() if part is not None) + sum(
            part.nbytes for part in self._packed() if isinstance(part, np.ndarray)
        )

    def __reduce__(self):
        whole = self.training_set
        n_classes = whole.n_classes if whole.is_classification else None
        options = (whole.features, whole.n_features_in, whole.policy)
        return _receive, (
            self._packed(),
            self._targets(),
            n_classes,
            whole.criterion,
            options,
        )

    def _packed(self):
        """Return rows without padding, what is known of the bins, values or None."""
        packed = self.training_set.packed
        values = None
        if self.sends_values:
            coarse = np.flatnonzero(packed.is_coarse)
            values = as_read(packed.raw.array[:, coarse])
        return (
            packed.rows[:, : packed.n_features],
            packed.n_bins,
            packed.has_missing,
            packed.bin_low,
            packed.bin_high,
            packed.is_coarse,
            values,
            packed.ranks,
        )

    def _targets(self):
        """Return classes in as few bytes as they fit, or targets and their shift."""
        whole = self.training_set
        if whole.is_classification:
            return np.asarray(whole.codes, np.min_scalar_type(whole.codes.max())), None
        return whole.codes, whole.shift


def _receive(packed, targets, n_classes, criterion, options):
    """Make the training set again, in another process."""
    bins, *known, values, ranks = packed
    n_samples, n_features = bins.shape
    is_coarse = known[-1]
    raw = None
    if values is not None:
        # Features that no tree reads are zeros, in memory that is never written to.
        whole = np.zeros((n_features, n_samples), dtype=values.dtype)
        whole[np.flatnonzero(is_coarse)] = values.T
        raw = MatrixView(whole.T)
    received = PackedData.from_bins(bins, *known, raw, ranks)
    features, n_features_in, policy = options
    codes, shift = targets
    return TrainingSet(
        received,
        codes if n_classes is None else codes.astype(np.int64),
        n_classes,
        criterion,
        features,
        n_features_in,
        policy=policy,
        shift=shift,
    )
