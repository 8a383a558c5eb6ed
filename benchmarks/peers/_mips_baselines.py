"""Other algorithms for maximum inner product search, written small.

Each counts the multiplications of coordinates that a query takes, as the thesis does;
preprocessing is not counted, which favours those that have any.

References
----------
.. [1] R. Liu, T. Wu and B. Mozafari, "A bandit approach to maximum inner product
   search", AAAI (2019).
.. [2] H.-F. Yu, C.-J. Hsieh, Q. Lei and I. S. Dhillon, "A greedy approach for budgeted
   maximum inner product search", NeurIPS (2017).
.. [3] Y. Bachrach et al., "Speeding up the Xbox recommender system using a Euclidean
   transformation for inner-product spaces", RecSys (2014).
"""

import numpy as np


class BoundedME:
    """Median elimination on coordinates sampled without replacement [1]_.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    epsilon : float
        How much worse than the best an answer may be, as a share of the range of one
        coordinate's product.
    delta : float
        Probability of failure.
    """

    def __init__(self, atoms, epsilon, delta=0.1, seed=0):
        self.atoms, self.epsilon, self.delta = atoms, epsilon, delta
        self.order = np.random.default_rng(seed).permutation(atoms.shape[1])

    def query(self, query, k):
        """Return the k best atoms found, and the multiplications."""
        n_features = len(query)
        survivors = np.arange(len(self.atoms))
        sums = np.zeros(len(survivors))
        epsilon, delta = self.epsilon / 4, self.delta / 2
        n_used = n_products = 0
        while len(survivors) > k:
            n_next = self._sample_size(epsilon, delta, len(survivors), k, n_features)
            n_next = max(n_next, n_used)
            chosen = self.order[n_used:n_next]
            sums += self.atoms[np.ix_(survivors, chosen)] @ query[chosen]
            n_products += len(survivors) * len(chosen)
            n_used = n_next
            n_left = k + (len(survivors) - k) // 2
            best = np.argsort(-sums, kind="stable")[:n_left]
            survivors, sums = survivors[best], sums[best]
            epsilon, delta = 0.75 * epsilon, delta / 2
        return survivors[np.argsort(-sums, kind="stable")], n_products

    @staticmethod
    def _sample_size(epsilon, delta, n_atoms, k, n_features):
        """Samples for a mean within epsilon / 2, of a finite population (Serfling)."""
        size = 2 / epsilon**2 * np.log(2 * (n_atoms - k) / (delta * max(k, 1)))
        return int(min(np.ceil(size / (1 + size / n_features)), n_features))


class GreedyMIPS:
    """Screening by the largest single products, then exact products [2]_.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    budget : int
        Number of candidates.
    """

    def __init__(self, atoms, budget):
        self.atoms, self.budget = atoms, budget
        order = np.argsort(atoms, axis=0).T
        # A coordinate's products by size: downwards for positive entries of a query,
        # upwards for negative ones. No more than the budget is ever looked at.
        self.highest = np.ascontiguousarray(order[:, ::-1][:, :budget])
        self.lowest = np.ascontiguousarray(order[:, :budget])

    def query(self, query, k):
        """Return the k best of the candidates, and the multiplications."""
        order = np.where(query[:, None] >= 0, self.highest, self.lowest)
        products = query[:, None] * self.atoms[order, np.arange(len(query))[:, None]]
        best = np.argsort(-products, axis=None, kind="stable")
        ranked = order.ravel()[best]
        _, first = np.unique(ranked, return_index=True)
        candidates = ranked[np.sort(first)[: max(self.budget, k)]]
        scores = self.atoms[candidates] @ query
        found = candidates[np.argsort(-scores, kind="stable")[:k]]
        # The merge of sorted lists computes one product a coordinate to begin with, and
        # one for each candidate it moves past.
        visited = int(np.sort(first)[: max(self.budget, k)].max()) + 1
        return found, len(query) + visited + len(candidates) * len(query)


class PCAMIPS:
    """Reduction to nearest neighbours, in a tree on the principal components [3]_.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    depth : int
        Depth of the tree: a query computes the atoms of one leaf.
    """

    def __init__(self, atoms, depth):
        self.atoms, self.depth = atoms, depth
        norms = np.linalg.norm(atoms, axis=1)
        rest = np.sqrt(np.maximum(norms.max() ** 2 - norms**2, 0))
        points = np.column_stack([rest, atoms])
        self.mean = points.mean(axis=0)
        centred = points - self.mean
        gram = centred @ centred.T
        _, vectors = np.linalg.eigh(gram.astype(np.float64))
        axes = vectors[:, ::-1][:, :depth].T @ centred
        self.axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        self.codes = (centred @ self.axes.T > 0) @ (1 << np.arange(depth))

    def query(self, query, k):
        """Return the k best of the leaf, and the multiplications."""
        point = np.concatenate([[0], query]) - self.mean
        code = (self.axes @ point > 0) @ (1 << np.arange(self.depth))
        leaf = np.flatnonzero(self.codes == code)
        n_products = self.depth * len(point) + len(leaf) * len(query)
        scores = self.atoms[leaf] @ query
        return leaf[np.argsort(-scores, kind="stable")[:k]], n_products
