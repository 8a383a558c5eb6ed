"""Hand a grown tree over to scikit-learn."""

import numpy as np

from sklearn_bandit._compat import PREDICTOR_RECORD_DTYPE, TreePredictor


class PredictorMaker:
    """Makes scikit-learn's ``TreePredictor`` from the table of a tree.

    Parameters
    ----------
    bin_mapper : BinMapper
        Has the thresholds.
    """

    def __init__(self, bin_mapper):
        self.missing_bin = int(bin_mapper.missing_values_bin_idx_)
        n_features = len(bin_mapper.bin_thresholds_)
        # A split after the last bin is one between missing and other values.
        self.thresholds = np.full((n_features, 256), np.inf)
        for feature, thresholds in enumerate(bin_mapper.bin_thresholds_):
            if not bin_mapper.is_categorical_[feature]:
                self.thresholds[feature, : len(thresholds)] = thresholds

    def make(self, table, leaf_values):
        """Make the predictor of a tree.

        Parameters
        ----------
        table : dict of str to ndarray
            The tree, as ``TreeGrower.table`` returns it.
        leaf_values : ndarray of shape (n_leaves,)
            Values to predict, in the order of the leaves' numbers.

        Returns
        -------
        TreePredictor
            scikit-learn's, with the leaves in `table`'s order.
        """
        nodes = np.zeros(len(table["count"]), dtype=PREDICTOR_RECORD_DTYPE)
        for name in nodes.dtype.names:
            if name in table:
                nodes[name] = table[name]
        is_leaf = table["is_leaf"] == 1
        rank = np.argsort(np.argsort(table["node"][is_leaf]))
        nodes["value"][is_leaf] = leaf_values[rank]
        categorical = table["is_categorical"] == 1
        numerical = ~is_leaf & ~categorical
        nodes["num_threshold"][numerical] = self.thresholds[
            table["feature_idx"][numerical], table["bin_threshold"][numerical]
        ]
        binned = table["bits"][categorical]
        nodes["bitset_idx"][categorical] = np.arange(len(binned))
        # Categories are 0, 1, 2, ..., the same as their bins; missing values are none.
        raw = binned.copy()
        word, bit = divmod(self.missing_bin, 32)
        raw[:, word] &= np.uint32(~(1 << bit) & 0xFFFFFFFF)
        return TreePredictor(nodes, binned, raw)
