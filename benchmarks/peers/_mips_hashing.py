"""Hashing for maximum inner product search, written small from its descriptions.

Multiplications of coordinates are counted as in ``_mips_baselines``: hash values of the
query, and exact products of the candidates.

References
----------
.. [1] A. Shrivastava and P. Li, "Asymmetric LSH (ALSH) for sublinear time maximum inner
   product search", NeurIPS (2014).
.. [2] Q. Huang, G. Ma, J. Feng, Q. Fang and A. K. H. Tung, "Accurate and fast
   asymmetric locality-sensitive hashing scheme for maximum inner product search", KDD
   (2018).
"""

import numpy as np
from scipy.stats import norm as normal

# Recommended in [1]: exponents of the norm that are appended, the largest norm after
# scaling, and the width of a bucket.
N_POWERS, MAX_NORM, WIDTH = 3, 0.83, 2.5

# Shells of fewer atoms are scanned, as in [2].
MIN_SHELL = 16


class LSHMIPS:
    """Tables of hash values of vectors that the norm is appended to [1]_.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    n_hashes : int
        Hash values of a table: candidates agree with the query in all of them.
    n_tables : int
        Number of tables: a candidate is found in one of them at least.
    """

    def __init__(self, atoms, n_hashes, n_tables, seed=0):
        rng = np.random.default_rng(seed)
        self.atoms = atoms
        self.shape = n_tables, n_hashes
        n_features = atoms.shape[1]
        size = n_tables * n_hashes
        self.directions = rng.standard_normal((n_features + N_POWERS, size))
        self.offsets = rng.uniform(0, WIDTH, size)
        norms = np.linalg.norm(atoms, axis=1)
        scale = MAX_NORM / norms.max()
        powers = (scale * norms)[:, None] ** (2.0 ** np.arange(1, N_POWERS + 1))
        self.codes = self._codes(np.hstack([scale * atoms, powers]))

    def _codes(self, vectors):
        """Return the hash values of vectors, one row of a table for each."""
        places = (vectors @ self.directions + self.offsets) / WIDTH
        return np.floor(places).astype(np.int64).reshape(len(vectors), *self.shape)

    def query(self, query, k):
        """Return the k best of the candidates, and the multiplications."""
        unit = query / np.linalg.norm(query)
        code = self._codes(np.concatenate([unit, np.full(N_POWERS, 0.5)])[None, :])
        candidates = np.flatnonzero((self.codes == code).all(axis=2).any(axis=1))
        scores = self.atoms[candidates] @ query
        n_products = self.directions.size + len(candidates) * len(query)
        return candidates[np.argsort(-scores, kind="stable")[:k]], n_products


class H2ALSH:
    """Nearest neighbours by query-aware hashing, in shells of similar norms [2]_.

    An atom of a shell gets one more coordinate, which gives all of them the largest
    norm of the shell; a query is scaled to that norm, so that inner products order
    atoms as distances do. Shells follow by decreasing norm, until no norm that is left
    can be better.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    ratio : float
        Approximation ratio of the distances, above 1 (c_0 of the paper).
    share : float
        Norms of a shell are above this share of its largest.
    delta : float
        Probability that the nearest atom of a shell collides too rarely.
    """

    def __init__(self, atoms, ratio, share=0.9, delta=0.25, seed=0):
        rng = np.random.default_rng(seed)
        self.atoms, self.ratio = atoms, ratio
        norms = np.linalg.norm(atoms, axis=1)
        self.far_share = min(100 / len(atoms), 0.5)
        self.width = np.sqrt(8 * ratio**2 * np.log(ratio) / (ratio**2 - 1))
        near, far = (2 * normal.cdf(self.width / (2 * x)) - 1 for x in (1, ratio))
        logs = np.sqrt(np.log(2 / self.far_share)), np.sqrt(np.log(1 / delta))
        n_hashes = int(np.ceil(sum(logs) ** 2 / (2 * (near - far) ** 2)))
        eta = logs[0] / logs[1]
        self.n_collisions = int(np.ceil(n_hashes * (eta * near + far) / (1 + eta)))
        self.directions = rng.standard_normal((atoms.shape[1] + 1, n_hashes))
        self.shells = []
        left = np.argsort(-norms, kind="stable")
        while len(left):
            largest = norms[left[0]]
            n_in = np.count_nonzero(norms[left] > share * largest) or len(left)
            shell, left = left[:n_in], left[n_in:]
            rest = np.sqrt(np.maximum(largest**2 - norms[shell] ** 2, 0))
            points = np.column_stack([atoms[shell], rest])
            self.shells.append((largest, shell, points @ self.directions))

    def query(self, query, k):
        """Return the k best of the candidates, and the multiplications."""
        size = np.linalg.norm(query)
        hashes = query @ self.directions[:-1]
        n_products = self.directions.shape[1] * len(query)
        found = np.empty(0, dtype=np.int64)
        scores = np.empty(0)
        for largest, shell, values in self.shells:
            if len(found) == k and scores[-1] >= largest * size:
                break
            chosen = self._candidates(
                query, shell, values, largest / size * hashes, largest, k
            )
            n_products += len(chosen) * len(query)
            found = np.append(found, chosen)
            scores = np.append(scores, self.atoms[chosen] @ query)
            best = np.argsort(-scores, kind="stable")[:k]
            found, scores = found[best], scores[best]
        return found, n_products

    def _candidates(self, query, shell, values, hashes, largest, k):
        """Return the atoms of a shell that collide often enough, in widening rounds."""
        if len(shell) < MIN_SHELL:
            return shell
        gaps = np.abs(values - hashes)
        # The radius at which each atom has collided often enough.
        reached = 2 / self.width * np.sort(gaps, axis=1)[:, self.n_collisions - 1]
        radius = reached.min()
        scaled = query * (largest / np.linalg.norm(query))
        while True:
            near = np.flatnonzero(reached <= radius)
            if len(near) >= min(self.far_share * len(shell) + k, len(shell)):
                return shell[near]
            # All points have the norm of the query.
            products = self.atoms[shell[near]] @ scaled
            distances = np.sqrt(np.maximum(2 * largest**2 - 2 * products, 0))
            is_near = distances <= self.ratio * radius
            if np.count_nonzero(is_near) >= k:
                return shell[near]
            radius *= self.ratio
