"""Distances that are kept for later searches, within a number of bytes.

What does not fit is computed again when it is asked for again, with the same result:
memory changes the time, never the medoids.
"""

from collections import OrderedDict
from math import prod

import numpy as np

from .base import tiles_shape
from .tiles import ARM_TILE, gather_columns

# What a block of references takes beside its tiles, for each arm: see `_Block`.
TABLE_BYTES = 12


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

    Tiles stay as they were computed. Arms that were computed in different calls are
    gathered from several tiles.

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

    def __call__(self, arms, start, stop, *, keep=True):
        """Distances of `arms` to a block of references; see `Distances.tiles`.

        They may be overwritten by the next call.

        Parameters
        ----------
        arms : ndarray
            Ascending positions.
        start, stop : int
            The references. Blocks that overlap must be the same.
        keep : bool, default=True
            Whether they are worth their memory.
        """
        shape = tiles_shape(arms, start, stop)
        if not keep:
            return self._distances.tiles(arms, start, stop, self._scratch(shape))
        block = self._blocks.get(start)
        if block is None:
            room = self._room - TABLE_BYTES * self._distances.n
            if 4 * prod(shape) > room:
                return self._distances.tiles(arms, start, stop, self._scratch(shape))
            block = self._blocks[start] = _Block(self._distances.n)
            self._room = room
        whole = block.whole(arms)
        if whole is not None:
            return whole
        addresses = block.addresses[arms]
        missing = np.flatnonzero(addresses == 0)
        fits = 4 * prod(shape) <= self._room
        if len(missing) == len(arms):
            out = None if fits else self._scratch(shape)
            tiles = self._distances.tiles(arms, start, stop, out)
            if out is None:
                self._keep(block, arms, tiles)
            return tiles
        if len(missing):
            fresh = self._distances.tiles(arms[missing], start, stop)
            addresses[missing] = column_addresses(fresh, len(missing))
        # A range of arms will be asked for again, and as a whole.
        is_range = len(arms) > ARM_TILE and arms[-1] - arms[0] == len(arms) - 1
        out = np.empty(shape, np.float32) if is_range and fits else self._scratch(shape)
        gather_columns(addresses, out, self._n_threads)
        if is_range and fits:
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

    Attributes
    ----------
    pieces : list of ndarray
        Tiles; empty ones where all arms have moved to other pieces.
    addresses : ndarray of shape (n_arms,)
        Where each arm's column begins; 0 if it is not kept.
    """

    def __init__(self, n_arms):
        self.pieces = []
        self.addresses = np.zeros(n_arms, dtype=np.intp)
        self._piece_of = np.full(n_arms, -1, dtype=np.intc)

    def add(self, arms, tiles):
        """Keep one more piece; return the bytes of those that it replaces."""
        before = np.unique(self._piece_of[arms])
        self.addresses[arms] = column_addresses(tiles, len(arms))
        self._piece_of[arms] = len(self.pieces)
        self.pieces.append(tiles)
        freed = 0
        for p in before[before >= 0].tolist():
            if not (self._piece_of == p).any():
                freed += self.pieces[p].nbytes
                self.pieces[p] = tiles[:0]
        return freed

    def whole(self, arms):
        """Return the piece that consists of these arms, or None."""
        p = self._piece_of[arms[0]] if len(arms) else -1
        if p < 0 or len(self.pieces[p]) != -(-len(arms) // ARM_TILE):
            return None
        addresses = column_addresses(self.pieces[p], len(arms))
        is_whole = np.array_equal(self.addresses[arms], addresses)
        return self.pieces[p] if is_whole else None


def column_addresses(tiles, n_arms):
    """Where the columns of the first arms of some tiles begin."""
    arms = np.arange(n_arms)
    places = arms // ARM_TILE * tiles[:1].size + arms % ARM_TILE
    return tiles.ctypes.data + places * tiles.itemsize
