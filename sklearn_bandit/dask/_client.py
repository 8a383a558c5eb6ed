"""The client of a fit, and the tasks that the fit has on its cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import distributed
from dask.delayed import Delayed

# Results that are on their way to the client at a time, in bytes. Gathering took 2.2
# times the size of the results in memory.
GATHER_BYTES = 256 * 1024**2


def resolve_client(client: distributed.Client | None = None) -> distributed.Client:
    """Return the client to use.

    Parameters
    ----------
    client : distributed.Client or None
        The client; None for the one of the surroundings: of the task that runs, or the
        last that was made.

    Returns
    -------
    distributed.Client
        The client.
    """
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise ValueError(
                "There is no dask client: make one, for example "
                "`distributed.Client()`, or pass it as the parameter `client`."
            ) from error
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client or None, got {client!r}.")
    if client.status != "running":
        raise ValueError(f"The dask client is {client.status}: {client!r}.")
    # The client of a task is asynchronous only for the event loop itself.
    if client.asynchronous:
        raise ValueError("An asynchronous client is not supported.")
    return client


class Tasks:
    """The tasks of one fit. When it ends, none of them is left on the cluster.

    Every task can be computed again, from the graph: nothing is scattered, so a worker
    that is lost takes nothing with it that the others could not make.

    Parameters
    ----------
    client : distributed.Client
        The client.

    Examples
    --------
    >>> with Tasks(client) as tasks:                                 # doctest: +SKIP
    ...     futures = [tasks.submit(len, block) for block in blocks]
    ...     n_rows = list(tasks.gather(futures))
    """

    def __init__(self, client: distributed.Client) -> None:
        self.client = client
        self._futures: dict[str, distributed.Future] = {}

    def __enter__(self) -> Tasks:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        futures, self._futures = list(self._futures.values()), {}
        running = [future for future in futures if not future.done()]
        # After an error or an interrupt, what still runs is not waited for.
        if running and kind is not None and self.client.status == "running":
            self.client.cancel(running, force=True)
        for future in futures:
            future.release()

    def submit(
        self, function: Callable, *args: Any, **options: Any
    ) -> distributed.Future:
        """Run a function on a worker.

        Parameters
        ----------
        function : callable
            What to run.
        *args : object
            Its arguments; futures among them, also in lists, stand for their results.
        **options : object
            Further arguments, and those of `distributed.Client.submit`.

        Returns
        -------
        distributed.Future
            Of the result.
        """
        future = self.client.submit(function, *args, pure=False, **options)
        return self._keep([future])[0]

    def compute(
        self, delayed: Sequence[Delayed], **options: Any
    ) -> list[distributed.Future]:
        """Compute delayed values on the workers, where they stay.

        Parameters
        ----------
        delayed : list of dask.delayed.Delayed
            What to compute.
        **options : object
            Those of `distributed.Client.compute`.

        Returns
        -------
        list of distributed.Future
            Of the values.
        """
        return self._keep(self.client.compute(list(delayed), **options))

    def gather(
        self, futures: Iterable[distributed.Future], bytes_each: int = 0
    ) -> Iterator[Any]:
        """Yield results in order, and let go of them on the cluster.

        Parameters
        ----------
        futures : iterable of distributed.Future
            Of this object.
        bytes_each : int, default=0
            About how large a result is: only as many are fetched at a time as
            `GATHER_BYTES` allows. 0 for small ones, which are fetched at once.

        Yields
        ------
        result : object
            Of the next future.
        """
        futures = list(futures)
        at_once = len(futures)
        if bytes_each:
            at_once = max(GATHER_BYTES // bytes_each, 1)
        for start in range(0, len(futures), max(at_once, 1)):
            some = futures[start : start + at_once]
            results = self.client.gather(some)
            for future, result in zip(some, results, strict=True):
                self.release(future)
                yield result

    def wait(self, futures: Iterable[distributed.Future]) -> None:
        """Wait until all have a result, or an error."""
        # `distributed.wait` asks the current client.
        with self.client.as_current():
            distributed.wait(list(futures))

    def release(self, future: distributed.Future) -> None:
        """Let go of a result that is not needed any more."""
        self._futures.pop(future.key, None)
        future.release()

    def hand_over(self, futures: Iterable[distributed.Future]) -> None:
        """Leave results on the cluster as long as they are referred to."""
        for future in futures:
            self._futures.pop(future.key, None)

    def _keep(self, futures):
        self._futures.update((future.key, future) for future in futures)
        return futures
