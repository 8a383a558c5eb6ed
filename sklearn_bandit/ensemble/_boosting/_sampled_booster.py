"""Grow each tree on a fresh sample of the rows, as large as it needs to be.

Which split is best in a node is a best-arm problem, with the features as arms and the
rows as references. Searching it node by node would give up what makes exact histograms
cheap, the subtraction of siblings. So one sample serves a whole tree, and the bandit
decides its size: from paired differences with their closest rivals one can tell what
the splits that were made are expected to lose, summed over the tree. If that is more
than a tolerated share of what the tree gains, the next trees see twice as many rows.
Gains shrink from tree to tree, and the sample grows with them, at last to all rows.

All rows pass through the finished tree once (see ``_routing``), or not at all if raw
predictions are computed lazily, for the rows that a sample draws (on-the-fly targets,
M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling", PhD
thesis, Stanford University, 2023, section 3.7).
"""

import numpy as np

from ._booster import (
    Booster,
    best_constant,
    compute_gradients,
    leaf_values,
)
from ._routing import Router
from ._sampling import copy_rows, draw_rows

# A sample of more than this share of the rows is not copied if there are bundles: its
# rows are read where they are, with fewer insertions each. On the flights a tree on
# 1,048,576 of 2,400,000 rows takes 22 ms instead of 30, one on 524,288 rows 18 or 19.
SHARE_IN_PLACE = 0.125


class SampledBooster(Booster):
    """A booster whose trees are grown on samples.

    Parameters
    ----------
    *args, **kwargs
        As for ``Booster``.
    where : {"all", "sample", "lazy"}
        Where the values of leaves come from; "lazy" is "sample" without raw predictions
        of all rows.
    batch_size : int
        Rows of the first sample.
    split_tol : float
        Share of its gain that a tree may be expected to lose for want of rows.
    l2_regularization : float
        Added to the hessians of a leaf.
    seed : int
        What the samples depend on.
    state : tuple or None
        `state` of the booster that a warm start goes on from.

    Attributes
    ----------
    state : tuple of (int, int, float, float)
        Number of iterations, size of the sample, regret and gain of recent trees.
    """

    def __init__(
        self,
        *args,
        where,
        batch_size,
        split_tol,
        l2_regularization,
        seed,
        state,
        **kwargs,
    ):
        super().__init__(*args, l2_regularization=l2_regularization, **kwargs)
        self.where = where
        self.split_tol = split_tol
        self.l2 = l2_regularization + 1e-15
        self.seeds = np.random.SeedSequence(seed)
        self.n_samples = self.columns.shape[1]
        if state is None:
            state = (0, self._allowed(batch_size), 0.0, 0.0)
        self.iteration, self.size, self.regret, self.gain = state
        # Drawn rows are read whole: from a row-major copy.
        self.matrix = np.ascontiguousarray(self.columns.T)
        self.passed = []  # routers and values of trees that "lazy" has not applied
        self.last = None

    @property
    def state(self):
        """What a warm start has to know."""
        return self.iteration, self.size, self.regret, self.gain

    def _allowed(self, size):
        """Size of a sample; one of more than half of the rows is not worth drawing."""
        return size if size <= self.n_samples // 2 else self.n_samples

    @property
    def raw_is_current(self):
        """Whether `raw` has the predictions of all trees."""
        return not self.passed

    def training_scores(self):
        """Return raw predictions, targets and weights to judge the training loss by."""
        if self.where == "lazy" and self.last is not None:
            return self.last
        return super().training_scores()

    def iterate(self, rng):
        """Add the tree or trees of one iteration; see ``Booster.iterate``."""
        if self.size == self.n_samples:
            self._catch_up()
            return super().iterate(rng)
        if self._is_in_place():
            rows = self._draw()
            chosen, (grower,) = rows, self._growers(1)
            _, _, gradients = self._all_rows()
            y, raw, sample_weight = self.y, self.raw, self.sample_weight
        else:
            rows, grower, gradients = self._draw_and_copy()
            chosen = None
            y, raw, sample_weight = self._look_up(rows)
        compute_gradients(self.loss, y, raw, sample_weight, gradients, self.n_threads)
        all_gradients = self._all_gradients() if self.where == "all" else None
        # Recent trees count as well: a single one says little.
        self.regret, self.gain = self.regret / 2.0, self.gain / 2.0
        trees = []
        for k in range(self.raw.shape[1]):
            self.n_insertions += grower.grow(gradients[k], rng, chosen)
            regret, gain = grower.regret(gradients[k], self.n_samples)
            self.regret += regret
            self.gain += gain
            table = grower.table()
            router = Router(table, self.missing_bin, self.n_threads)
            # From the grower's order of leaves to the router's.
            leaves = table["node"][router.leaf_nodes]
            rank = np.argsort(np.argsort(leaves))
            values = leaf_values(grower, self.loss, y, raw[:, k], sample_weight)
            values = values[rank]
            if self.where == "all":
                values = self._pass(
                    router, k, all_gradients, grower.leaf_bounds()[rank], values
                )
            elif self.where == "sample":
                router.add_to(self.columns, self.learning_rate * values, self.raw[:, k])
            values = self.learning_rate * values
            if self.where == "lazy":
                self.passed.append((router, values, k))
            by_node = np.empty_like(values)
            by_node[rank] = values
            trees.append((self.maker.make(table, by_node), table))
        if self.where == "lazy":
            for router, values, k in self.passed[-self.raw.shape[1] :]:
                router.add_to(self.drawn, values, raw[:, k])
            self.last = raw, y, sample_weight
        if self.regret > self.split_tol * self.gain:
            self.size = self._allowed(2 * self.size)
            self.regret = self.gain = 0.0
        return trees

    def _is_in_place(self):
        """Whether the rows of a sample are read where they are."""
        if self.where == "lazy" or self.size < SHARE_IN_PLACE * self.n_samples:
            return False
        groups = self.layout_of(may_bundle=True).groups
        return any(group.has_bundles for group in groups)

    def _draw(self):
        """Draw the rows of a sample."""
        seed = self.seeds.generate_state(2 * self.iteration + 2, np.uint64)[-1]
        self.iteration += 1
        return draw_rows(self.n_samples, self.size, int(seed))

    def _draw_and_copy(self):
        """Draw a sample, copy it and return what grows trees on it."""
        rows = self._draw()
        if self.size not in self.growers:
            self.growers.clear()
            self.drawn = np.empty((len(self.columns), self.size), dtype=np.uint8)
            copy_rows(self.matrix, rows, self.drawn, self.n_threads)
            self.growers[self.size] = self.make_grower(self.drawn)
        else:
            copy_rows(self.matrix, rows, self.drawn, self.n_threads)
            self.growers[self.size][0].write(self.drawn)
        return rows, *self.growers[self.size][1:]

    def _look_up(self, rows):
        """Targets, raw predictions and weights of a sample."""
        raw = np.asfortranarray(self.raw[rows])
        for router, values, k in self.passed:
            router.add_to(self.drawn, values, raw[:, k])
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return self.y[rows], raw, weights

    def _catch_up(self):
        """Apply the trees that "lazy" has put off."""
        for router, values, k in self.passed:
            router.add_to(self.columns, values, self.raw[:, k])
        self.passed = []
        self.last = None
        self.where = "all"
        self.matrix = None

    def _all_gradients(self):
        """Gradients and hessians of all rows."""
        if not self.loss.differentiable:
            return None
        if "all" not in self.__dict__:
            self.all = self.make_gradients(self.n_samples)
            self.leaves = np.empty(self.n_samples, dtype=np.uint8)
        compute_gradients(
            self.loss, self.y, self.raw, self.sample_weight, self.all, self.n_threads
        )
        return self.all

    def _pass(self, router, k, gradients, bounds, values):
        """Take all rows through a tree: values of its leaves, and raw predictions."""
        if gradients is None:
            zeros = np.zeros((self.n_samples, 1), dtype=np.float32)
            leaves = np.empty(self.n_samples, dtype=np.uint8)
            router.sum_leaves(self.columns, zeros, leaves)
            values = np.array(
                [
                    best_constant(
                        self.loss,
                        self.y,
                        self.raw[:, k],
                        self.sample_weight,
                        np.flatnonzero(leaves == leaf),
                    )
                    for leaf in range(len(values))
                ]
            )
        else:
            leaves = self.leaves
            sums = router.sum_leaves(self.columns, gradients[k], leaves)
            values = -sums[:, 0] / (sums[:, 1] + self.l2)
            values = np.clip(values, bounds[:, 0], bounds[:, 1])
        router.add_leaves(leaves, self.learning_rate * values, self.raw[:, k])
        return values
