"""How many threads grow a tree: all, or one if others use the processors.

Threads that share a tree wait for each other some hundred times. Where each has a
processor of its own, that takes microseconds. Where other programs use the processors
too, it may be the turn of one of these, which lasts milliseconds, and a tree takes ten
times as long as with one thread, which waits for nobody. Models do not depend on the
number of threads: whichever number is faster may grow the next tree.
"""

from time import perf_counter, process_time

# Share of the time that the threads of a tree ran, from which on nothing else had their
# processors: those that wait for a short time run on.
UNDISTURBED = 0.8

# Trees from one trial of the slower number to the next.
TRIAL = 16


class ThreadChoice:
    """Chooses the number of threads by what the last trees took.

    Parameters
    ----------
    n_threads : int
        As many as there may be.

    Attributes
    ----------
    n_threads : int
        How many should grow the next tree.
    """

    def __init__(self, n_threads):
        self.n_threads = self.n_most = n_threads
        self.seconds = {}  # of the last tree, for each unit of work
        self.n_disturbed = 0  # trees since processors were shared

    def measure(self, grow):
        """Grow a tree with `n_threads` threads, and choose how many grow the next.

        Parameters
        ----------
        grow : callable
            Grows the tree and returns the work that it took, in any unit.
        """
        ran, start = process_time(), perf_counter()
        work = grow()
        self.note(perf_counter() - start, process_time() - ran, work)

    def note(self, seconds, ran, work):
        """Choose the next number by the last tree's time, and that of all threads."""
        n = self.n_threads
        if self.n_most == 1:
            return
        self.seconds[n] = seconds / max(work, 1)
        if n > 1 and ran >= UNDISTURBED * n * seconds:
            self.n_disturbed = 0
            return
        self.n_disturbed += 1
        other = 1 if n > 1 else self.n_most
        if self.n_disturbed == 1 or self.n_disturbed % TRIAL == 0:
            self.n_threads = other
        else:
            self.n_threads = min(self.seconds, key=self.seconds.get)
