"""The atoms of a search, laid out for sampling.

The fitted array is never copied. Beside it an index holds, for every atom, its norm,
its coefficients on a few components, and a random sample of its coordinates, less the
components, in contiguous tiles of growing width. Almost every search ends inside the
sample, where a round of sampling reads memory in order. Single coordinates of the array
itself would cost up to 26 times as much (measured: 4,000 x 10,000 in float32).

Atoms live in slots: the rows of the fitted array, then those added later. Removing an
atom takes its slot out of the list of those to search; added atoms are copied together
when most of them are gone. Their ids stay.

An index does not change. Adding or removing atoms makes another index, which shares the
common part. A search that is under way goes on with the index that it began with.
"""

from copy import copy
from itertools import pairwise

import numpy as np
from sklearn.utils.random import sample_without_replacement

from .._core.thread_start import keep_threads
from ..bandit import LEAST_EFFECTIVE_SIZE
from ._calls import MOST_REMOVED
from ._description import describe_atoms
from ._gemv import scan
from ._search import Searcher

# Widths of the tiles, in batches. A batch of 64 coordinates is the smallest power of
# two whose effective number passes the guards for normal data (a third of them).
# The small tiles have at most half of all coordinates. The large ones follow as long as
# all together have at most one coordinate in `LARGE_RATIO`.
TILE_BATCHES = (1, 1, 2, 4, 8, 16, 32, 64)
N_SMALL_TILES = 5
LARGE_RATIO = 32

# Widths of tiles are multiples of a vector register.
TILE_ALIGNMENT = 8

# Below this dimension sampling does not pay, and there is no sample (measured: the
# cross-over for one query is at 1,500 to 3,000 coordinates).
MIN_FEATURES = 2_000

# A component costs d multiplications a query, one n-th of an exact search. So there is
# one component for this number of atoms, as long as the atoms vary along it.
ATOMS_PER_COMPONENT = 256
MAX_COMPONENTS = 16
COMPONENT_ATOMS = 128
COMPONENT_ENERGY = 0.05

# With more atoms per feature than this, BLAS has them on the right; see `_product`.
ATOMS_PER_FEATURE = 8

# Fewer entries of the atoms than this are scanned by one thread, within 2 ms. More
# threads may have to wait for those of BLAS, which wait for more work.
MIN_PARALLEL = 1 << 24

# Entries of the atoms that are described at a time: read from memory only once.
BLOCK_ENTRIES = 1 << 20

# Allowance for errors of BLAS products and coefficients, relative to the norms: this
# number of units in the last place, and one more for `ROUNDING_FEATURES` coordinates.
# Measured with OpenBLAS, far from the origin: 1.6 at 3,000 coordinates, 3 at 30,000, 10
# at 300,000 and 39 at 3,000,000 for matrix products; less for single queries.
ROUNDING_UNITS = 16
ROUNDING_FEATURES = 40_000

# Outside this range squares of entries may over- or underflow on the way.
SAFE_RANGE = {
    np.dtype(np.float32): (1e-15, 1e15),
    np.dtype(np.float64): (1e-120, 1e120),
}

# Entries of added atoms may be larger than the fitted ones by this factor: their fourth
# powers are summed up in single precision.
MAX_SCALED = 1e8


class AtomIndex:
    """Atoms in slots, with or without a coordinate sample.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms, in C order; not copied and not changed.
    with_sample : bool
        Whether to prepare anything at all.
    batch_size : int
        Coordinates of the first tile.
    rng : RandomState
        Draws the coordinates of the sample and the atoms that give the components.
    """

    # Whether squares of entries neither over- nor underflow. Only a sample tells.
    is_safe = False

    def __init__(self, atoms, *, with_sample, batch_size, rng):
        self.atoms = atoms
        self.n_features = atoms.shape[1]
        self.dtype = atoms.dtype
        units = ROUNDING_UNITS + self.n_features / ROUNDING_FEATURES
        self.rounding = units * float(np.finfo(self.dtype).eps)
        self.added = Growing(np.empty((0, self.n_features), self.dtype))
        self.slots = np.arange(len(atoms))
        self.ids = None  # by slot; None as long as they are the slots
        self.n_ids = len(atoms)
        self.with_norms = with_sample
        # More than all coordinates are as good as all.
        batch_size = min(int(batch_size), self.n_features)
        self.batch_size = -(-batch_size // TILE_ALIGNMENT) * TILE_ALIGNMENT
        self.seed = rng.randint(np.iinfo(np.int32).max)
        self._largest = None
        self._by_norm = None
        self._uniforms = None
        self._block_order = {}
        self.tile_widths = ()
        self.components = np.empty((0, self.n_features), self.dtype)
        if with_sample:
            self._prepare(rng)
        self._refresh()

    @property
    def n_atoms(self):
        """Number of atoms that can be found."""
        return len(self.slots)

    @property
    def n_slots(self):
        """Number of slots, including those of removed atoms."""
        return len(self.atoms) + len(self.added)

    def add(self, atoms):
        """Return an index with some atoms more, which get the next ids."""
        other = self._copy()
        first = self.n_slots
        other.added.append(atoms)
        other.n_ids = self.n_ids + len(atoms)
        if self.ids is not None:
            other.ids = np.append(self.ids, np.arange(self.n_ids, other.n_ids))
        other.slots = np.append(self.slots, np.arange(first, first + len(atoms)))
        if self.with_norms:
            largest = float(max(atoms.max(), -atoms.min()))
            other.is_safe = self.is_safe and (
                largest < SAFE_RANGE[self.dtype][1]
                and largest * self.scale < MAX_SCALED
            )
            with np.errstate(all="ignore"):  # the sample is not used if not safe
                other._describe(atoms)
        other._refresh()
        return other

    def remove(self, ids):
        """Return an index without some atoms; the others keep their ids."""
        other = self._copy()
        gone = np.searchsorted(self.present_ids(), ids)
        other.slots = np.delete(self.slots, gone)
        n_left = np.count_nonzero(other.slots >= len(self.atoms))
        if n_left < (1 - MOST_REMOVED) * len(self.added):
            other._copy_together()
        other._refresh()
        return other

    def _copy_together(self):
        """Let go of the slots of removed atoms; the fitted array goes as a whole."""
        n_fitted = len(self.atoms) if self.slots[0] < len(self.atoms) else 0
        fitted = np.arange(n_fitted)
        kept = np.append(fitted, self.slots[self.slots >= len(self.atoms)])
        rows = self.added.rows[kept[n_fitted:] - len(self.atoms)]
        self.ids = self.to_ids(kept)
        self.slots = np.searchsorted(kept, self.slots)
        if self.with_norms:
            for growing in self._parallel_rows():
                growing.keep(kept)
        if n_fitted:
            self.added = Growing(rows)
        else:
            self.atoms, self.added = rows, Growing(self.added.rows[:0])

    def _copy(self):
        """Return an index that shares all rows, and can have others behind them."""
        other = object.__new__(AtomIndex)
        other.__dict__.update(self.__dict__)
        other.added = copy(self.added)
        if self.with_norms:
            other.norms = copy(self.norms)
            other.coefs = copy(self.coefs)
            other.residual_norms = copy(self.residual_norms)
            other.tiles = [copy(tile) for tile in self.tiles]
            other.inflation = [copy(inflation) for inflation in self.inflation]
        return other

    def to_ids(self, slots):
        """Return the ids of slots."""
        return slots if self.ids is None else self.ids[slots]

    def present_ids(self):
        """Return the ids of the atoms that can be found, ascending."""
        return self.to_ids(self.slots)

    def scores(self, queries, n_jobs):
        """Inner products with the atoms of all slots, by BLAS or a scan."""
        parts = [self.atoms, self.added.rows] if len(self.added) else [self.atoms]
        products = [_product(queries, part, n_jobs) for part in parts]
        return products[0] if len(products) == 1 else np.hstack(products)

    def all_atoms(self):
        """Return the atoms that can be found; a copy if some were added or removed."""
        if len(self.slots) == len(self.atoms) and not len(self.added):
            return self.atoms
        return np.vstack([self.atoms, self.added.rows])[self.slots]

    def by_norm(self):
        """Slots of the atoms that can be found, by decreasing norm."""
        by_norm = self._by_norm
        if by_norm is None:
            norms = self.norms.rows[self.slots]
            by_norm = self.slots[np.argsort(-norms, kind="stable")]
            self._by_norm = by_norm
        return by_norm

    def largest(self):
        """Largest absolute entry of the atom in every slot, for rigorous radii."""
        return self._stats()[0]

    def all_norms(self):
        """Norm of the atom in every slot, also where nothing was prepared."""
        return self.norms.rows if self.with_norms else self._stats()[1]

    def _stats(self):
        """Read all atoms, when that is first asked for."""
        largest = self._largest
        if largest is None:
            parts = [self.atoms, self.added.rows] if len(self.added) else [self.atoms]
            stats = np.vstack([describe_atoms(part) for part in parts])
            self._largest = largest = stats[:, 2].copy(), stats[:, 3].copy()
        return largest

    def uniforms(self, n):
        """Return the same uniform numbers for every query, to draw coordinates by."""
        uniforms = self._uniforms
        if uniforms is None or len(uniforms) < n:
            uniforms = np.random.RandomState(self.seed).uniform(size=n)
            self._uniforms = uniforms
        return uniforms[:n]

    def block_starts(self, length):
        """First coordinates of all blocks of this length, round by round at random."""
        starts = self._block_order.get(length)
        if starts is None:
            n_blocks = -(-self.n_features // length)
            order = np.random.RandomState(self.seed).permutation(n_blocks)
            # What a round of doubling adds is read in the order of memory.
            start, stop = 0, self.batch_size
            while start < n_blocks:
                order[start:stop].sort()
                start, stop = stop, 2 * stop
            self._block_order[length] = starts = order * length
        return starts

    def _prepare(self, rng):
        """Choose components and coordinates; describe the fitted atoms."""
        largest = float(max(self.atoms.max(), -self.atoms.min()))
        self.norms = Growing(np.empty(0))
        low, high = SAFE_RANGE[self.dtype]
        self.is_safe = low < largest < high
        if self.is_safe:
            self.components = _find_components(self.atoms, rng)
            if self.n_features >= MIN_FEATURES:
                self.tile_widths = self._tile_widths()
        n_coordinates = sum(self.tile_widths)
        self.coordinates = rng.permutation(
            sample_without_replacement(self.n_features, n_coordinates, random_state=rng)
        )
        edges = np.cumsum((0, *self.tile_widths))
        for start, stop in pairwise(edges):
            self.coordinates[start:stop].sort()  # in the order of memory
        self.sampled_components = np.ascontiguousarray(
            self.components[:, self.coordinates]
        )
        self.scale = 2.0 ** -np.frexp(largest)[1] if self.is_safe else 1.0
        self.coefs = Growing(np.empty((0, len(self.components))))
        self.residual_norms = Growing(np.empty(0))
        self.tiles = [Growing(np.empty((0, w), np.float32)) for w in self.tile_widths]
        self.inflation = [Growing(np.empty(0, np.float32)) for _ in self.tile_widths]
        self._describe(self.atoms)

    def _tile_widths(self):
        """As many tiles as there is room for."""
        widths = []
        for n_batches in TILE_BATCHES:
            widths.append(n_batches * self.batch_size)
            ratio = 2 if len(widths) <= N_SMALL_TILES else LARGE_RATIO
            if sum(widths) > self.n_features // ratio:
                return tuple(widths[:-1])
        return tuple(widths)

    def _describe(self, atoms):
        """Append norms, coefficients and tiles of new atoms, in blocks of the cache."""
        for rows in self._parallel_rows():
            rows.reserve(len(atoms))
        n_rows = max(BLOCK_ENTRIES // self.n_features, 1)
        for first in range(0, len(atoms), n_rows):
            self._describe_block(atoms[first : first + n_rows])

    def _describe_block(self, atoms):
        norms = describe_atoms(atoms)[:, 3]
        self.norms.append(norms)
        if not len(self.components):
            return
        coefs = atoms @ self.components.T
        left = norms**2 - np.einsum("ij,ij->i", coefs, coefs, dtype=np.float64)
        slack = 4 * self.rounding * norms**2
        self.coefs.append(coefs)
        self.residual_norms.append(np.sqrt(np.maximum(left, 0) + slack))
        if self.tile_widths:
            # What rounding alone may leave is no missing mass.
            self._fill_tiles(atoms, coefs, np.maximum(left - slack, 0))

    def _fill_tiles(self, atoms, coefs, energies):
        """Append the residuals at the sampled coordinates, and the atoms' guards."""
        sample = np.take(atoms, self.coordinates, axis=1)
        sample -= coefs @ self.sampled_components
        sample *= self.dtype.type(self.scale)
        sample = sample.astype(np.float32, copy=False)
        edges = np.cumsum((0, *self.tile_widths))
        square = sample * sample
        sums_2 = np.add.reduceat(square, edges[:-1], axis=1).cumsum(axis=1)
        square *= square
        sums_4 = np.add.reduceat(square, edges[:-1], axis=1).cumsum(axis=1)
        population = energies * self.scale**2 / self.n_features
        inflation = _inflation(population[:, None] * edges[1:], sums_2, sums_4)
        for t in range(len(self.tiles)):
            self.tiles[t].append(sample[:, edges[t] : edges[t + 1]])
            self.inflation[t].append(inflation[:, t])

    def _parallel_rows(self):
        """Everything that has one row a slot."""
        return [
            self.norms,
            self.coefs,
            self.residual_norms,
            *self.tiles,
            *self.inflation,
        ]

    def _refresh(self):
        """Take a new snapshot for the kernels."""
        self._largest = None
        self._by_norm = None
        added = self.added.rows if len(self.added) else None
        norms = self.norms.rows if self.with_norms else None
        self.searcher = Searcher(self.atoms, added, self.slots, self.rounding, norms)
        if len(self.components):
            self.searcher.set_components(
                self.components, self.coefs.rows, self.residual_norms.rows
            )
        if self.tile_widths:
            self.searcher.set_tiles(
                [tile.rows for tile in self.tiles],
                [inflation.rows for inflation in self.inflation],
                self.coordinates,
                self.sampled_components,
                self.scale,
            )

    def __getstate__(self):
        return {name: x for name, x in self.__dict__.items() if name != "searcher"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._refresh()


class Growing:
    """Rows that can be appended to; room is doubled when it runs out.

    A copy shares the rows. The first copy that appends gets the room behind them; the
    others get memory of their own. So no copy changes the rows of another.
    """

    def __init__(self, rows):
        self._hold(rows, len(rows))

    def _hold(self, buffer, n):
        self._buffer = buffer
        self._n = n
        self._end = [n]  # of what is in use; all copies have the same list

    def __len__(self):
        return self._n

    @property
    def rows(self):
        """The rows appended so far."""
        return self._buffer[: self._n]

    def reserve(self, n_new):
        """Make room for `n_new` more rows."""
        n, buffer = self._n + n_new, self._buffer
        is_free = self._end[0] == self._n and buffer.flags.writeable
        if n > len(buffer) or not is_free:
            n_room = n if self._n == 0 else max(n, 2 * len(buffer))
            buffer = np.empty((n_room, *buffer.shape[1:]), buffer.dtype)
            buffer[: self._n] = self.rows
            self._hold(buffer, self._n)

    def append(self, rows):
        """Append rows."""
        self.reserve(len(rows))
        self._buffer[self._n : self._n + len(rows)] = rows
        self._n += len(rows)
        self._end[0] = self._n

    def keep(self, chosen):
        """Keep some of the rows, in memory of their own."""
        if len(self):
            rows = self.rows[chosen]
            self._hold(rows, len(rows))

    def __copy__(self):
        other = object.__new__(Growing)
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self):
        return {"rows": self.rows}  # the room behind them has any content

    def __setstate__(self, state):
        self._hold(state["rows"], len(state["rows"]))


def _product(queries, atoms, n_jobs):
    """Inner products, one row a query; `n_jobs` is for a single one.

    OpenBLAS packs what is on the right. With the atoms on the left it is 1.4 times as
    fast for 200 queries and four to eight times for a few (measured: 4,000 x 10,000),
    unless there are many atoms, where transposing the result costs more.
    """
    if len(queries) == 1:
        is_large = atoms.size >= MIN_PARALLEL
        n_threads = keep_threads(n_jobs) if is_large else 1
        return scan(atoms, queries[0], n_threads)[None, :]
    if len(atoms) > ATOMS_PER_FEATURE * atoms.shape[1]:
        return queries @ atoms.T
    return np.ascontiguousarray((atoms @ queries.T).T)


def _find_components(atoms, rng):
    """Orthonormal rows: the constant vector, and what a sample of atoms varies along.

    A direction is kept if it holds a fair part of the energy that those before it
    leave, and if there are enough atoms to make up for its cost.
    """
    n_atoms, n_features = atoms.shape
    constant = np.full((1, n_features), n_features**-0.5, dtype=atoms.dtype)
    n_components = min(MAX_COMPONENTS, n_atoms // ATOMS_PER_COMPONENT)
    if n_components == 0:
        return constant
    chosen = rng.permutation(n_atoms)[:COMPONENT_ATOMS]
    sample = atoms[np.sort(chosen)]
    sample -= sample.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh((sample @ sample.T).astype(np.float64))
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    left = values[::-1].cumsum()[::-1]
    with np.errstate(invalid="ignore"):
        poor = ~(values > COMPONENT_ENERGY * left) | (values <= 1e-6 * left[0])
    n_components = min(
        n_components, int(np.argmax(poor)) if poor.any() else len(values)
    )
    if n_components == 0:
        return constant
    directions = vectors[:, :n_components].T.astype(atoms.dtype) @ sample
    directions /= np.sqrt(values[:n_components, None]).astype(atoms.dtype)
    basis, _ = np.linalg.qr(np.vstack([constant, directions]).T.astype(np.float64))
    basis = np.ascontiguousarray(basis.T, dtype=atoms.dtype)
    basis[0] = constant  # exactly: kernels sum a query instead of multiplying
    return basis


def _inflation(expected, sum_2, sum_4):
    """How much wider an atom's radius must be for the mass that its sample missed.

    Infinite where the sample says nothing: too few coordinates carry its mass, or all
    mass is elsewhere.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inflation = np.sqrt(np.maximum(expected / sum_2, 1))
        few = sum_2**2 < LEAST_EFFECTIVE_SIZE * sum_4
    inflation[few | ((sum_2 == 0) & (expected > 0))] = np.inf
    inflation[(sum_2 == 0) & (expected == 0)] = 1
    return inflation.astype(np.float32)
