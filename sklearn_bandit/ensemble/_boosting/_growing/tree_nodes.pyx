"""The nodes of a tree while it grows, and what is read from them afterwards."""

import numpy as np

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport reallocate

cdef enum:
    # Room for nodes to begin with; most trees have 31 leaves, which are 61 nodes.
    FIRST_ROOM = 64


cdef class TreeNodes:
    """Nodes in the order in which they are made; the root is the first."""

    def __dealloc__(self):
        free(self.nodes)

    cdef Py_ssize_t add(self) except -1:
        """Make room for one more node and return its number."""
        cdef void* nodes
        cdef Py_ssize_t room
        cdef Node* node

        if self.n == self.n_room:
            room = max(FIRST_ROOM, 2 * self.n_room)
            nodes = reallocate(self.nodes, room, sizeof(Node))
            if nodes == NULL:
                raise MemoryError()
            self.nodes = <Node*> nodes
            self.n_room = room
        node = &self.nodes[self.n]
        memset(node, 0, sizeof(Node))
        node.left = -1
        node.right = -1
        node.slot = -1
        node.split.gain = -1.0
        self.n += 1
        return self.n - 1

    cdef Py_ssize_t add_child(
        self, Py_ssize_t parent, Py_ssize_t start, Py_ssize_t stop
    ) except -1:
        """Add a child with some of its parent's rows and all of its bounds."""
        cdef Py_ssize_t node = self.add()
        cdef Node* child = &self.nodes[node]

        child.start = start
        child.stop = stop
        child.depth = self.nodes[parent].depth + 1
        child.sums = self.nodes[parent].sums
        child.sums.n = stop - start
        return node

    def leaves(self):
        """Return the leaves.

        Returns
        -------
        nodes : ndarray of intp
            Their numbers.
        starts, stops : ndarray of intp
            Their stretches of the permutation of the rows.
        values : ndarray of float64
            Their Newton steps.
        """
        cdef Py_ssize_t node
        found = [node for node in range(self.n) if self.nodes[node].left < 0]
        return (
            np.array(found, dtype=np.intp),
            np.array([self.nodes[node].start for node in found], dtype=np.intp),
            np.array([self.nodes[node].stop for node in found], dtype=np.intp),
            np.array([self.nodes[node].sums.value for node in found]),
        )

    def leaf_bounds(self):
        """Return the bounds of the leaves' values, in the order of `leaves`.

        Returns
        -------
        ndarray of shape (n_leaves, 2)
            Lower and upper bounds.
        """
        cdef Py_ssize_t node
        return np.array(
            [
                (self.nodes[node].sums.lower, self.nodes[node].sums.upper)
                for node in range(self.n)
                if self.nodes[node].left < 0
            ]
        )

    def table(self):
        """Return the nodes, each before its children and left before right.

        Returns
        -------
        dict of str to ndarray
            Numbers of the nodes, sums, splits, children and, if categorical, bit sets.
        """
        cdef Py_ssize_t k, node
        cdef Node* this
        cdef int64_t[::1] number = np.empty(self.n, dtype=np.int64)
        cdef int64_t[::1] order = np.empty(self.n, dtype=np.int64)
        cdef int64_t[:, ::1] whole = np.zeros((9, self.n), dtype=np.int64)
        cdef double[:, ::1] real = np.zeros((2, self.n))
        cdef uint32_t[:, ::1] bits = np.zeros((self.n, 8), dtype=np.uint32)
        stack = [0]

        k = 0
        while stack:
            node = stack.pop()
            order[k] = node
            number[node] = k
            k += 1
            if self.nodes[node].left >= 0:
                stack.append(self.nodes[node].right)
                stack.append(self.nodes[node].left)
        for k in range(self.n):
            this = &self.nodes[order[k]]
            real[0, k] = this.sums.value
            real[1, k] = this.split.gain
            whole[0, k] = <int64_t> this.sums.n
            whole[1, k] = this.depth
            whole[2, k] = this.left < 0
            if this.left < 0:
                continue
            whole[3, k] = number[this.left]
            whole[4, k] = number[this.right]
            whole[5, k] = this.split.feature
            whole[6, k] = this.split.bin
            whole[7, k] = this.split.missing_left
            whole[8, k] = this.split.is_categorical
            if this.split.is_categorical:
                for node in range(8):
                    bits[k, node] = this.split.left_bins[node]
        names = (
            "count", "depth", "is_leaf", "left", "right", "feature_idx",
            "bin_threshold", "missing_go_to_left", "is_categorical",
        )
        table = dict(zip(names, np.asarray(whole), strict=True))
        table |= {"value": np.asarray(real[0]), "gain": np.asarray(real[1])}
        return table | {"bits": np.asarray(bits), "node": np.asarray(order)}
