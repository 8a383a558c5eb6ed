"""Rows with ids that stay, in segments; an index never changes once it is made."""

import numpy as np

from .._calls import MOST_REMOVED
from ._search import Search
from .codes import make_segment

# Queries that are answered in one call of the kernels: between calls an interrupt is
# heard.
N_TOGETHER = 4800


class Index:
    """Rows that can be searched.

    Parameters
    ----------
    segments : tuple of Segment
        The rows, in order of their positions.
    ids : ndarray of int64 or None
        Ids by position, ascending; None if they are the positions.
    n_ids : int
        Number of ids given so far.
    settings : dict
        Keyword arguments of `make_segment`: "metric" and "delta".
    """

    def __init__(self, segments, ids, n_ids, settings):
        self.segments = segments
        self.ids = ids
        self.n_ids = n_ids
        self.settings = settings
        self.search = Search(segments)
        self.n_features = segments[0].rows.shape[1]
        self.n_positions = sum(len(segment.rows) for segment in segments)
        self.n_rows = int(sum(segment.is_present.sum() for segment in segments))

    @classmethod
    def of(cls, X, settings, rng, n_threads):
        """Return the index of new rows."""
        segment = make_segment(X, first=0, rng=rng, n_threads=n_threads, **settings)
        return cls((segment,), None, len(X), settings)

    def add(self, X, rng, n_threads):
        """Return the index with more rows, which get the next ids.

        Small segments are joined, so that there are few of them and a row is encoded
        only a few times however many small parts are added.
        """
        segments, ids = list(self.segments), self.present_ids()
        rows, n_new = [X], len(X)
        while segments and len(segments[-1].rows) < 2 * n_new:
            last = segments.pop()
            rows.insert(0, last.rows[last.is_present])
            n_new += len(rows[0])
        n_kept = sum(int(segment.is_present.sum()) for segment in segments)
        first = sum(len(segment.rows) for segment in segments)
        joined = np.concatenate(rows) if len(rows) > 1 else X.copy()
        segment = make_segment(
            joined, first=first, rng=rng, n_threads=n_threads, **self.settings
        )
        new = np.arange(self.n_ids, self.n_ids + len(X), dtype=np.int64)
        all_ids = np.concatenate([self._all_ids()[:first], ids[n_kept:], new])
        if len(all_ids) == all_ids[-1] + 1:
            all_ids = None
        return Index((*segments, segment), all_ids, self.n_ids + len(X), self.settings)

    def remove(self, ids, rng, n_threads):
        """Return the index without some rows; the others keep their ids."""
        everyone = self._all_ids()
        positions = np.searchsorted(everyone, ids)
        segments, kept_ids, first = [], [], 0
        for segment in self.segments:
            n = len(segment.rows)
            own = everyone[segment.first : segment.first + n]
            places = positions - segment.first
            places = places[(places >= 0) & (places < n)]
            if len(places):
                segment = segment.without(places)
                is_present = segment.is_present
                if is_present.sum() < (1.0 - MOST_REMOVED) * n:
                    own = own[is_present]
                    if not len(own):
                        continue
                    segment = make_segment(
                        segment.rows[is_present],
                        first=first,
                        rng=rng,
                        n_threads=n_threads,
                        **self.settings,
                    )
            if segment.first != first:
                segment = segment.moved(first)
            first += len(own)
            segments.append(segment)
            kept_ids.append(own)
        kept_ids = np.concatenate(kept_ids)
        if len(kept_ids) == kept_ids[-1] + 1:
            kept_ids = None
        return Index(tuple(segments), kept_ids, self.n_ids, self.settings)

    def _all_ids(self):
        """Return the ids of all positions, those of removed rows included."""
        if self.ids is None:
            return np.arange(self.n_positions, dtype=np.int64)
        return self.ids

    def is_present(self):
        """Return which positions hold rows that can be found."""
        return np.concatenate([segment.is_present for segment in self.segments])

    def present_ids(self):
        """Return the ids of the rows that can be found."""
        return self._all_ids()[self.is_present()]

    def to_ids(self, positions):
        """Return the ids of positions."""
        return positions if self.ids is None else self.ids[positions]

    def all_rows(self):
        """Return the rows that are present, in the order of their ids."""
        if len(self.segments) == 1 and self.segments[0].is_present.all():
            return self.segments[0].rows
        return np.concatenate([part.rows[part.is_present] for part in self.segments])

    def own_queries(self):
        """Yield blocks of the rows themselves, with their positions."""
        for segment in self.segments:
            places = np.flatnonzero(segment.is_present)
            for start in range(0, len(places), N_TOGETHER):
                chosen = places[start : start + N_TOGETHER]
                rows = np.ascontiguousarray(segment.rows[chosen])
                yield rows, (chosen + segment.first).astype(np.int64)

    def queries(self, X):
        """Yield blocks of queries, and None for the positions they do not have."""
        for start in range(0, len(X), N_TOGETHER):
            yield X[start : start + N_TOGETHER], None

    def nearest(self, X, k, n_threads):
        """Return keys and ids of the k nearest rows; X None takes the rows."""
        if X is not None and len(X) <= N_TOGETHER:
            keys, positions = self.search.nearest(X, k, None, n_threads)
            return keys, self.to_ids(positions)
        blocks = self.own_queries() if X is None else self.queries(X)
        parts = [self.search.nearest(rows, k, own, n_threads) for rows, own in blocks]
        keys, positions = (np.concatenate(each) for each in zip(*parts, strict=True))
        return keys, self.to_ids(positions)

    def within(self, X, limit, by_key, n_threads):
        """Return ends, keys and ids of all rows with keys up to a limit."""
        blocks = self.own_queries() if X is None else self.queries(X)
        ends, keys, ids = [np.zeros(1, dtype=np.int64)], [], []
        for rows, own in blocks:
            part_ends, part_keys, positions = self.search.within(
                rows, limit, own, by_key, n_threads
            )
            ends.append(part_ends[1:] + ends[-1][-1])
            keys.append(part_keys)
            ids.append(self.to_ids(positions))
        return np.concatenate(ends), np.concatenate(keys), np.concatenate(ids)

    @property
    def nbytes(self):
        """Memory beside the rows."""
        size = sum(segment.nbytes for segment in self.segments)
        return size + (self.ids.nbytes if self.ids is not None else 0)
