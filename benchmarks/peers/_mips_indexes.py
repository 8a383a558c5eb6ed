"""Quantization and graphs for maximum inner product search, written small.

Multiplications of coordinates are counted as in ``_mips_baselines``: tables of the
query's products with codewords, and exact products of the candidates or of the atoms
that a walk visits.

References
----------
.. [1] X. Dai, X. Yan, K. K. W. Ng, J. Liu and J. Cheng, "Norm-explicit quantization:
   improving vector quantization for maximum inner product search", AAAI (2020).
.. [2] S. Tan, Z. Xu, W. Zhao, H. Fei, Z. Zhou and P. Li, "Norm adjusted proximity graph
   for fast inner product retrieval", KDD (2021).
"""

import heapq

import numpy as np
from sklearn.cluster import KMeans


class NEQMIPS:
    """Norms and directions quantized apart; the best by codes are computed [1]_.

    Directions have product codes: coordinates in parts, each with codewords of its own.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    n_codebooks : int
        Parts of the coordinates.
    n_codewords : int
        Codewords of a part, and of the norms.
    n_candidates : int
        Atoms whose exact products are computed.
    """

    def __init__(self, atoms, n_codebooks, n_codewords, n_candidates, seed=0):
        self.atoms, self.n_candidates = atoms, n_candidates
        norms = np.linalg.norm(atoms, axis=1)
        directions = atoms / np.maximum(norms, np.finfo(float).tiny)[:, None]
        n_codewords = min(n_codewords, len(atoms))

        def quantize(rows):
            means = KMeans(n_codewords, n_init=1, max_iter=10, random_state=seed)
            codes = means.fit_predict(rows)
            return means.cluster_centers_, codes

        self.parts = np.array_split(np.arange(atoms.shape[1]), n_codebooks)
        self.books = [quantize(directions[:, part]) for part in self.parts]
        # Norms relative to those of the quantized directions, as the paper has them.
        rebuilt = np.hstack([words[codes] for words, codes in self.books])
        sizes = np.maximum(np.linalg.norm(rebuilt, axis=1), np.finfo(float).tiny)
        words, codes = quantize((norms / sizes)[:, None])
        self.norms = words[codes, 0]

    def query(self, query, k):
        """Return the k best of the candidates, and the multiplications."""
        scores = np.zeros(len(self.atoms))
        n_products = len(self.atoms)
        for part, (words, codes) in zip(self.parts, self.books, strict=True):
            scores += (words @ query[part])[codes]
            n_products += words.size
        scores *= self.norms
        n_candidates = min(max(self.n_candidates, k), len(scores))
        candidates = np.argpartition(-scores, n_candidates - 1)[:n_candidates]
        exact = self.atoms[candidates] @ query
        n_products += n_candidates * len(query)
        return candidates[np.argsort(-exact, kind="stable")[:k]], n_products


class NAPG:
    """A walk in a graph whose edges are chosen by norm-adjusted inner products [2]_.

    An atom is linked to those with the largest inner products, but for those that are
    nearer to one of its links than to itself. Products with links are multiplied by a
    factor first, so that links of a large norm do not shut out all others. The factor
    of a range of norms is the mean square norm over the mean of the largest inner
    products, of a sample of its atoms. There is one layer, and a walk starts at the
    atom with the largest norm.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.
    n_links : int
        Most edges of an atom; twice as many with those back to it.
    n_open : int
        Atoms that a walk keeps; the more, the more precise.
    """

    def __init__(self, atoms, n_links, n_open, n_ranges=5, seed=0):
        self.atoms, self.n_open = atoms, n_open
        products = (atoms @ atoms.T).astype(np.float64)
        squares = np.diag(products).copy()
        factors = self._factors(products, squares, n_links, n_ranges, seed)
        n_atoms = len(atoms)

        def choose(x, offered, most):
            offered = offered[np.argsort(-products[x, offered], kind="stable")]
            chosen = []
            for y in offered[: 4 * most]:
                near = factors[x] * products[chosen, y]
                if (near <= products[x, y]).all():
                    chosen.append(int(y))
                if len(chosen) == most:
                    break
            return chosen

        others = np.arange(n_atoms)
        links = [set(choose(x, others[others != x], n_links)) for x in others]
        for x, chosen in enumerate([tuple(some) for some in links]):
            for y in chosen:
                links[y].add(x)
        for x in others:
            if len(links[x]) > 2 * n_links:
                links[x] = choose(x, np.array(sorted(links[x])), 2 * n_links)
        self.links = [np.array(sorted(some), dtype=np.intp) for some in links]
        self.start = int(np.argmax(squares))

    @staticmethod
    def _factors(products, squares, n_links, n_ranges, seed):
        """Return the factor of each atom, by its range of norms."""
        rng = np.random.default_rng(seed)
        factors = np.ones(len(squares))
        for members in np.array_split(np.argsort(squares, kind="stable"), n_ranges):
            if not len(members):
                continue
            sample = rng.permutation(members)[:100]
            largest = np.sort(products[sample], axis=1)[:, -n_links - 1 :]
            mean = largest.mean()
            factors[members] = squares[sample].mean() / mean if mean > 0 else 1.0
        return factors

    def query(self, query, k):
        """Return the k best atoms of a walk, and the multiplications."""
        first = float(self.atoms[self.start] @ query)
        seen = {self.start}
        ahead = [(-first, self.start)]
        kept = [(first, self.start)]
        n_open = max(self.n_open, k)
        while ahead:
            score, atom = heapq.heappop(ahead)
            if len(kept) == n_open and -score < kept[0][0]:
                break
            new = [int(y) for y in self.links[atom] if int(y) not in seen]
            seen.update(new)
            for y, value in zip(new, self.atoms[new] @ query, strict=True):
                if len(kept) < n_open or value > kept[0][0]:
                    heapq.heappush(ahead, (-float(value), y))
                    heapq.heappush(kept, (float(value), y))
                    if len(kept) > n_open:
                        heapq.heappop(kept)
        best = sorted(kept, key=lambda one: (-one[0], one[1]))[:k]
        return np.array([atom for _, atom in best]), len(seen) * len(query)
