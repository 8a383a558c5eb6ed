"""Distances that are kept for later searches, within a number of bytes.

What does not fit is computed again when it is asked for again, with the same result:
memory changes the time, never the medoids.
"""

from collections import OrderedDict
from math import prod

import numpy as np

from ._distances import ARM_TILE, gather_columns
from ._metrics import tiles_shape


class RowCache:
    """Exact rows, the most recently used kept."""

    def __init__(self, distances, n_bytes):
        self._distances = distances
        self._capacity = int(n_bytes // (distances.n * distances.dtype.itemsize))
        self._rows = OrderedDict()

    @property
    def dtype(self):
        """Type of the rows."""
        return self._distances.dtype

    @property
    def scale(self):
        """What the tiles' distances are multiplied with; see `Distances`."""
        return self._distances.scale

    def __call__(self, arms):
        """Distances of each arm to all positions, of shape (len(arms), n)."""
        missing = [arm for arm in arms if arm not in self._rows]
        if len(missing) == len(arms):
            rows = self._distances.rows(np.asarray(arms))
        else:
            rows = np.empty((len(arms), self._distances.n), self._distances.dtype)
            fresh = self._distances.rows(np.asarray(missing)) if missing else ()
            fresh = dict(zip(missing, fresh, strict=True))
            for i, arm in enumerate(arms):
                rows[i] = fresh[arm] if arm in fresh else self._rows[arm]
        for arm, row in zip(arms, rows, strict=True):
            self._keep(arm, row)
        return rows

    def columns(self, arms):
        """Distances of each arm to all positions, of shape (n, len(arms))."""
        return self(arms).T

    def _keep(self, arm, row):
        if arm in self._rows:
            self._rows.move_to_end(arm)
        elif self._capacity:
            self._rows[arm] = row.copy()
            if len(self._rows) > self._capacity:
                self._rows.popitem(last=False)


class TileCache:
    """Tiles of distances to blocks of references, kept as long as there is room.

    Tiles stay as they were computed. Arms that are asked for in other company than they
    were computed in are gathered from several tiles.

    Parameters
    ----------
    distances : Distances
        Where they come from.
    n_bytes : int
        Room.
    n_threads : int
        OpenMP threads.
    """

    def __init__(self, distances, n_bytes, n_threads):
        self._distances = distances
        self._room = int(n_bytes)
        self._n_threads = n_threads
        self._blocks = {}
        self._spare = np.empty(0, np.float32)

    def __call__(self, arms, start, stop):
        """Distances of `arms` to a block of references; see `Distances.tiles`.

        They may be overwritten by the next call.

        Parameters
        ----------
        arms : ndarray
            Ascending positions.
        start, stop : int
            The references. Blocks that overlap must be the same.
        """
        block = self._blocks.setdefault(start, _Block())
        slots = block.find(arms)
        whole = block.whole(slots)
        if whole is not None:
            return whole
        missing = np.flatnonzero(slots < 0)
        shape = tiles_shape(arms, start, stop)
        if len(missing) == len(arms):
            out = None if 4 * prod(shape) <= self._room else self._scratch(shape)
            tiles = self._distances.tiles(arms, start, stop, out)
            if out is None:
                self._keep(block, arms, tiles)
            return tiles
        out = np.zeros(shape, np.float32)
        for piece, sources, targets in block.parts(slots):
            gather_columns(piece, sources, targets, out, self._n_threads)
        if len(missing):
            fresh = self._distances.tiles(arms[missing], start, stop)
            gather_columns(
                fresh, np.arange(len(missing)), missing, out, self._n_threads
            )
        if len(arms) > ARM_TILE and arms[-1] - arms[0] == len(arms) - 1:
            # A range of arms will be asked for again, and as a whole.
            self._keep(block, arms, out)
        elif len(missing):
            self._keep(block, arms[missing], fresh)
        return out

    @property
    def nbytes(self):
        """Bytes of the tiles kept."""
        return sum(p.nbytes for block in self._blocks.values() for p in block.pieces)

    def _scratch(self, shape):
        """Memory for tiles that will not be kept: new memory costs as much as they."""
        size = prod(shape)
        if len(self._spare) < size:
            self._spare = np.empty(size, np.float32)
        return self._spare[:size].reshape(shape)

    def _keep(self, block, arms, tiles):
        if tiles.nbytes <= self._room:
            self._room += block.add(arms, tiles) - tiles.nbytes


class _Block:
    """What is kept of one block of references.

    A slot is the number of an arm's column, counted through all tiles of all pieces.
    """

    def __init__(self):
        self.pieces = []
        self._firsts = [0]
        self._arms = np.array([], dtype=np.intp)
        self._slots = np.array([], dtype=np.intp)

    def add(self, arms, tiles):
        """Keep one more piece; return the bytes of those that it replaces."""
        first = self._firsts[-1]
        others = ~np.isin(self._arms, arms, assume_unique=True)
        slots = np.concatenate([self._slots[others], first + np.arange(len(arms))])
        arms = np.concatenate([self._arms[others], arms])
        order = np.argsort(arms, kind="stable")
        self._arms, self._slots = arms[order], slots[order]
        self.pieces.append(tiles)
        self._firsts.append(first + len(tiles) * ARM_TILE)
        freed = 0
        used = np.searchsorted(self._firsts, self._slots, side="right") - 1
        for p in set(range(len(self.pieces))) - set(used.tolist()):
            freed += self.pieces[p].nbytes
            self.pieces[p] = tiles[:0]
        return freed

    def find(self, arms):
        """Slots of some arms; -1 for those that are not kept."""
        if len(self._arms) == 0:
            return np.full(len(arms), -1)
        places = np.searchsorted(self._arms, arms)
        places[places == len(self._arms)] = 0
        return np.where(self._arms[places] == arms, self._slots[places], -1)

    def whole(self, slots):
        """Return the piece that consists of these slots, or None."""
        first = int(slots[0]) if len(slots) else -1
        if first not in self._firsts[:-1]:
            return None
        piece = self.pieces[self._firsts.index(first)]
        if len(piece) != -(-len(slots) // ARM_TILE):
            return None
        is_whole = np.array_equal(slots, np.arange(first, first + len(slots)))
        return piece if is_whole else None

    def parts(self, slots):
        """Yield, for each piece, its columns among `slots` and their places there."""
        for piece, first in zip(self.pieces, self._firsts, strict=False):
            targets = np.flatnonzero(
                (slots >= first) & (slots < first + len(piece) * ARM_TILE)
            )
            if len(targets):
                yield piece, slots[targets] - first, targets
