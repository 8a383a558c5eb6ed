import os
from dataclasses import asdict, dataclass, replace
import numpy as np

from .booster import Booster, compute_gradients, leaf_values
from .leaf_router import LeafRouter, add_leaves
from .importance import RowDraw, scale_pairs

E = os.environ.get
FACTOR = float(E("F", 4))
TAU = float(E("TAU", .5))
MEMORY = float(E("MEM", .7))
GOLDEN = 0.6180339887498949
MIN_RARE = float(E("RARE", 8192))
WORK_OF_FEATURE = 4.0
WORK_OF_SPLIT = 1.0 / 30.0
WORK_RATIO = float(E("WR", 3.0))
FIRST=float(E("FIRST", 4))
LOG=[]

@dataclass
class SamplingState:
    n_samples: int
    round_size: int
    size: int
    n_rows: int
    turn: int = 0
    work: int = 0
    gained: float = 0.0
    promised: float = 0.0
    curvature: float = -1.0


class SampledBooster(Booster):
    def __init__(self, data, *, batch_size, sample_tol, seed, state, rare_share, **kwargs):
        self.sample_tol = sample_tol
        self.round_size = min(batch_size, data.n_samples)
        self.rare_share = rare_share
        self.seed = seed
        self.state = state
        super().__init__(data, **kwargs)

    def _start(self):
        n = self.data.n_samples
        size = self._allowed(self.round_size)
        n_rows = max(FIRST * size, MIN_RARE / self.rare_share)
        n_rows = self._allowed(-(-int(n_rows) // self.round_size) * self.round_size)
        self.n_scored = n_rows
        self.n_splits = sum(map(_count_splits, self.data.predictors))
        if self.state is None or (self.state.n_samples, self.state.round_size) != (n, self.round_size):
            self.state = SamplingState(n, self.round_size, size, n_rows)
        self.constant_hessian = self.loss.constant_hessian and self.state.size == n
        self._join()

    def _allowed(self, n):
        return int(n) if n <= self.data.n_samples // 2 else self.data.n_samples

    def _join(self):
        n_rows = self.state.n_rows
        if self.data.n_rows < n_rows:
            self.rows = None
            if self._allowed(self.round_size) == self.data.n_samples:
                self.data.join_all()
            else:
                self.data.join(n_rows, self.round_size, self.seed)

    def iterate(self, rng):
        self._join()
        state = self.state
        self.n_grown = state.size
        LOG.append((state.size, self.data.n_rows))
        if state.size == state.n_samples:
            self.sample = None
            if self.constant_hessian != self.loss.constant_hessian:
                self.constant_hessian = self.loss.constant_hessian
                if self.rows is not None:
                    self._make_room()
            return super().iterate(rng)
        self.evidence = np.zeros((len(self.data.raw.T), 4))
        before = self.n_insertions
        trees = super().iterate(rng)
        self.n_splits += _count_splits(trees)
        gained, promised, squares, hessians = self.evidence.sum(axis=0).tolist()
        curvature = squares / hessians if hessians > 0 else 0.0
        gained += MEMORY * state.gained
        promised += MEMORY * state.promised
        size, n_rows = state.size, state.n_rows
        work = state.work + self.n_insertions - before
        if state.turn > 0 and gained < (1.0 - self.sample_tol) * promised:
            size, gained, promised = self._allowed(2 * size), 0.0, 0.0
        if size == state.n_samples:
            n_rows = size
        elif size * FACTOR > n_rows:
            n_rows = self._allowed(FACTOR * size)
        is_paid = work >= WORK_RATIO * n_rows * self._work_of_row()
        if is_paid and n_rows < state.n_samples:
            n_rows = self._allowed(2 * n_rows)
        self.state = replace(state, size=size, n_rows=n_rows, turn=state.turn+1, work=work, gained=gained, promised=promised, curvature=curvature)
        return trees

    def _work_of_row(self):
        n_features = len(self.data.columns)
        return WORK_OF_FEATURE * n_features + WORK_OF_SPLIT * self.n_splits

    def _compute_gradients(self):
        super()._compute_gradients()
        if self.state.size == self.state.n_samples:
            return
        if self.loss.constant_hessian:
            self.gradients[:, :, 1] = 1.0
        curvature = self.state.curvature
        if curvature < 0.0:
            g, h = np.abs(self.gradients[..., ::16, :]).sum(axis=(0, 1), dtype=float)
            curvature = (g / h)**2
        draw = RowDraw(self.gradients, curvature, self.state.size, self.n_threads)
        self.sample = draw.draw(self.state.turn * GOLDEN % 1.0)
        p = draw.probabilities[self.sample]
        self.factors = np.float32(self.data.n_samples / self.data.n_rows) / p
        self.inverse = 1 / self.factors

    def _grow(self, grower, k, rng):
        if self.sample is None:
            return super()._grow(grower, k, rng)
        data, pairs = self.data, self.gradients[k]
        scale_pairs(pairs, self.sample, self.factors, grower.n_threads)
        n_insertions = grower.grow(pairs, rng, self.sample)
        scale_pairs(pairs, self.sample, self.inverse, grower.n_threads)
        self._check(grower)
        newton = grower.leaves()[3]
        values = self.learning_rate * leaf_values(grower, self.loss, data, k, self.sample, self.factors)
        table = grower.table()
        predictor = self.maker.make(table, values)
        router = LeafRouter([predictor], data.missing_bin, grower.n_threads)
        (nodes,) = router.leaf_nodes
        order = np.argsort(np.argsort(table["node"][nodes]))
        leaves = np.empty(data.n_rows, dtype=np.uint8)
        G, H = router.sum_leaves(data.columns, pairs, leaves).T
        v = newton[order]
        squares = np.sum(H * v * v)
        self.evidence[k] = -(G @ v) - squares / 2, squares / 2, squares, H.sum()
        add_leaves(leaves, values[order], data.raw[:, k], grower.n_threads)
        return n_insertions, predictor


def _count_splits(trees):
    """Number of splits of some trees."""
    return sum(len(predictor.nodes) // 2 for predictor in trees)
