"""The nodes of a tree in groups, which rows pass in one step each (``node_groups.h``).

From the root on, and again from each way out, a group takes in the heaviest nodes, by
the weight of their training samples: so the rows stay in it for as long as they can.
What is left of a tree in the end are small subtrees, which share groups.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate, reallocate

cdef extern from "node_groups.h":
    int GROUP_SHIFT "SKB_GROUP_SHIFT"
    uint16_t NO_NODE "SKB_NO_NODE"

cdef enum:
    # What `_group` returns if all is well, and if not.
    DONE = 0
    NOT_VALID = 1
    NO_MEMORY = 2

cdef Py_ssize_t MAX_GROUPS = 1 << 27


cdef class Grouping:
    """The groups of one tree after the other, in the same memory.

    Parameters
    ----------
    most_nodes : int
        Nodes of the largest tree.
    """

    def __cinit__(self, Py_ssize_t most_nodes):
        # A node that is chosen makes at most one subtree more wait.
        self.waiting = <Waiting*> allocate(most_nodes + 1, sizeof(Waiting))
        if self.waiting == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.waiting)
        free(self.groups)
        free(self.next_)

    cdef bint group(self, SourceTree tree) except -1:
        """Put the nodes of a tree into groups; a row starts at the first.

        Returns whether all nodes are valid.
        """
        cdef int state

        with nogil:
            state = self._group(tree)
        if state == NO_MEMORY:
            raise MemoryError
        return state == DONE

    cdef int _group(self, SourceTree tree) noexcept nogil:
        cdef Py_ssize_t number
        cdef uint32_t place
        cdef Waiting above
        cdef int i

        self.n_groups = self.n_chosen_in_all = 0
        for i in range(GROUP_EXITS):
            self.roomy[i] = -1
        self.waiting[0] = Waiting(0, 0, 0)
        self.n_waiting = 1
        while self.n_waiting:
            self.n_waiting -= 1
            above = self.waiting[self.n_waiting]
            if not self._choose(tree, above.node):
                return NOT_VALID
            number = self._find_group()
            if number < 0:
                return NO_MEMORY
            place = self._write(tree, number)
            if above.node != 0:
                self.groups[above.group].exits[above.exit_] = place
        return DONE

    cdef bint _choose(self, SourceTree tree, uint32_t root) noexcept nogil:
        """Choose the nodes of a subtree that come into a group together."""
        cdef Branch[GROUP_EXITS] open_
        cdef Branch branch, child
        cdef int n_open = 0, heaviest, side, i

        self.n_chosen = self.n_exits = 0
        branch = Branch(root, 0, 0)
        if tree.left[root] < 0:
            self.exits[0] = branch
            self.n_exits = 1
            return True
        open_[0] = branch
        n_open = 1
        while n_open and self.n_chosen < GROUP_NODES:
            heaviest = 0
            for i in range(1, n_open):
                if tree.weights[open_[i].node] > tree.weights[open_[heaviest].node]:
                    heaviest = i
            branch = open_[heaviest]
            n_open -= 1
            open_[heaviest] = open_[n_open]
            # A node that is its own descendant would be chosen without end.
            if not tree.is_valid(branch.node) or self.n_chosen_in_all == tree.n_nodes:
                return False
            self.n_chosen_in_all += 1
            self.chosen[self.n_chosen] = branch.node
            branch.on_path |= <uint16_t> (1 << self.n_chosen)
            for side in range(2):
                child = branch
                if side == 0:
                    child.node = <uint32_t> tree.left[branch.node]
                else:
                    child.node = <uint32_t> tree.right[branch.node]
                    child.answers |= <uint16_t> (1 << self.n_chosen)
                if tree.left[child.node] < 0:
                    self.exits[self.n_exits] = child
                    self.n_exits += 1
                else:
                    open_[n_open] = child
                    n_open += 1
            self.n_chosen += 1
        for i in range(n_open):
            self.exits[self.n_exits] = open_[i]
            self.n_exits += 1
        return True

    cdef Py_ssize_t _find_group(self) noexcept nogil:
        """Return a group with room for the chosen nodes, or -1 for want of memory."""
        cdef Group* group
        cdef Py_ssize_t number
        cdef int room, i

        for room in range(self.n_exits, GROUP_EXITS):
            if self.roomy[room] >= 0:
                number = self.roomy[room]
                self.roomy[room] = self.next_[number]
                return number
        if self.n_groups == self.room and not self._make_room():
            return -1
        number = self.n_groups
        self.n_groups += 1
        group = &self.groups[number]
        memset(group, 0, sizeof(Group))
        for i in range(16):
            group.thresholds[i] = INFINITY
            group.on_path[i] = group.answers[i] = NO_NODE
        return number

    cdef bint _make_room(self) noexcept nogil:
        """Make room for more groups; return whether there is memory."""
        cdef Py_ssize_t room = 2 * self.room + 16
        cdef void* memory

        if room > MAX_GROUPS:
            return False
        memory = reallocate(self.groups, room, sizeof(Group))
        if memory == NULL:
            return False
        self.groups = <Group*> memory
        memory = reallocate(self.next_, room, sizeof(int32_t))
        if memory == NULL:
            return False
        self.next_ = <int32_t*> memory
        self.room = room
        return True

    cdef uint32_t _write(self, SourceTree tree, Py_ssize_t number) noexcept nogil:
        """Write the chosen nodes into a group; return where their root is."""
        cdef Group* group = &self.groups[number]
        cdef int first_node = group.n_nodes, first_exit = group.n_exits, i, to, room
        cdef uint32_t node

        for i in range(self.n_chosen):
            node = self.chosen[i]
            to = first_node + i
            group.thresholds[to] = tree.threshold(node)
            group.features[to] = <uint16_t> tree.features[node]
            if not tree.missing_left[node]:
                group.missing_right |= <uint16_t> (1 << to)
        for i in range(self.n_exits):
            node = self.exits[i].node
            to = first_exit + i
            group.on_path[to] = <uint16_t> (self.exits[i].on_path << first_node)
            group.answers[to] = <uint16_t> (self.exits[i].answers << first_node)
            if tree.left[node] < 0:
                group.exits[to] = tree.payloads[node]
            else:
                group.goes_on |= <uint16_t> (1 << to)
                self.waiting[self.n_waiting] = Waiting(
                    node, <uint32_t> number, <uint32_t> to
                )
                self.n_waiting += 1
        group.n_nodes = <uint16_t> (first_node + self.n_chosen)
        group.n_exits = <uint16_t> (first_exit + self.n_exits)
        room = GROUP_EXITS - group.n_exits
        if room:
            self.next_[number] = self.roomy[room]
            self.roomy[room] = <int32_t> number
        return (<uint32_t> number << GROUP_SHIFT) | <uint32_t> first_exit
