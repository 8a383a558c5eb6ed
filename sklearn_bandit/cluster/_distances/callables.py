"""Distances by a function of the user's, called as rarely as memory allows."""

import numpy as np
from scipy import sparse

from .blocks import BlockDistances

# Pairs that are tried both ways, to see whether a metric is symmetric.
N_TRIED = 8

# Values closer than this, relative to them, are equal: sums in another order.
EQUAL = 1e-9


def call_metric(metric, X, Y, params, batched):
    """Return the distances from some objects to others, as a matrix.

    Parameters
    ----------
    metric : callable
        A function of two objects or, if `batched`, of two collections of them.
    X, Y : array, sparse matrix or sequence
        The objects.
    params : dict
        Further arguments of the metric.
    batched : bool
        See `metric`.
    """
    shape = tuple(x.shape[0] if hasattr(x, "shape") else len(x) for x in (X, Y))
    if not batched:
        values = [[metric(x, y, **params) for y in Y] for x in X]
        return np.array(values, dtype=np.float64).reshape(shape)
    values = np.asarray(metric(X, Y, **params), dtype=np.float64)
    if values.shape != shape:
        raise ValueError(
            "With metric_batched=True the metric must return a matrix of shape "
            f"(len(samples), len(medoids)) = {shape}, got {values.shape}."
        )
    return values


class CallableDistances(BlockDistances):
    """A function of two objects, called once for each pair as long as memory allows.

    Parameters
    ----------
    X : sequence
        Any objects.
    metric : callable
        ``metric(sample, medoid, **params)``.
    order : ndarray
        The objects to use, in the order of their positions.
    memory : int
        Bytes for the table of pairs. Too little for all pairs means no table: then a
        pair is evaluated again when it is asked for again.
    symmetric : {"auto", True, False}, default=False
        Whether a pair is evaluated one way only, and an object is at distance zero
        from itself; "auto" tries some pairs both ways. It takes a table.
    batched : bool, default=False
        Whether the metric takes collections of objects and returns a matrix.
    """

    def __init__(
        self, X, metric, params, order, memory, *, symmetric=False, batched=False
    ):
        super().__init__(order, np.float64)
        self._X = X
        self._metric = metric
        self._params = params
        self._batched = batched
        self._table = None
        n_objects = len(X) if not sparse.issparse(X) else X.shape[0]
        if 9 * n_objects**2 <= memory:
            # Neither array takes memory before it is written to.
            self._table = np.empty((n_objects, n_objects))
            self._known = np.zeros((n_objects, n_objects), dtype=bool)
        self._symmetric = False
        if symmetric == "auto":
            symmetric = self._table is not None and self._seems_symmetric()
        if symmetric and self._table is not None:
            self._symmetric = True
            np.fill_diagonal(self._table, 0.0)
            np.fill_diagonal(self._known, True)

    def _seems_symmetric(self):
        """Evaluate some pairs both ways, and some objects with themselves."""
        n_pairs = min(N_TRIED, self.n // 2)
        x, y = self.order[:n_pairs], self.order[n_pairs : 2 * n_pairs]
        there = self._paired(np.concatenate([x, y, x]), np.concatenate([y, x, x]))
        forth, back, selves = there.reshape(3, n_pairs)
        return bool(
            n_pairs
            and np.allclose(forth, back, rtol=EQUAL, atol=0)
            and not selves.any()
        )

    def _block(self, samples, medoids):
        if self._table is None:
            return self._evaluate(samples, medoids)
        grid = np.ix_(samples, medoids)
        missing = ~self._known[grid]
        if missing.any():
            if self._batched:
                self._fill_batch(
                    samples[missing.any(axis=1)], medoids[missing.any(axis=0)]
                )
            else:
                i, j = np.nonzero(missing)
                self._paired(samples[i], medoids[j])
        return self._table[grid]

    def _paired(self, samples, medoids):
        """Return the distances of pairs, and put them into the table."""
        if self._symmetric:
            n = len(self._table)
            low, high = np.minimum(samples, medoids), np.maximum(samples, medoids)
            low, high = np.divmod(np.unique(low * n + high), n)
        else:
            low, high = samples, medoids
        X, metric, params = self._X, self._metric, self._params
        values = np.empty(len(low))
        if self._batched:
            for p, (i, j) in enumerate(zip(low, high, strict=True)):
                values[p] = self._evaluate(np.array([i]), np.array([j]))[0, 0]
        else:
            for p, (i, j) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
                values[p] = metric(X[i], X[j], **params)
                self.n_evaluations += 1
        self._keep((low, high), values)
        return values

    def _fill_batch(self, samples, medoids):
        grid = np.ix_(samples, medoids)
        self._keep(grid, self._evaluate(samples, medoids))

    def _keep(self, where, values):
        self._table[where] = values
        self._known[where] = True
        if self._symmetric:
            back = where[1].T, where[0].T
            self._table[back] = values.T
            self._known[back] = True

    def _evaluate(self, samples, medoids):
        """Compute a block, whatever is known of it."""
        X, Y = self._take(samples), self._take(medoids)
        if not self._batched:
            block = np.empty((len(samples), len(medoids)))
            for i, x in enumerate(X):
                for j, y in enumerate(Y):
                    block[i, j] = self._metric(x, y, **self._params)
                    self.n_evaluations += 1
            return block
        block = call_metric(self._metric, X, Y, self._params, batched=True)
        self.n_evaluations += block.size
        return block

    def _take(self, which):
        X = self._X
        return X[which] if hasattr(X, "shape") else [X[i] for i in which.tolist()]
