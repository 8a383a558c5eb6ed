"""Clusters: of threads, where coverage sees what workers do, and of processes."""

import gc

import pytest
from threadpoolctl import threadpool_limits

pytest.importorskip("distributed", reason="the extra dask is not installed")


def pytest_itemcollected(item):
    """Mark the tests of this folder, for which alone this is called."""
    item.add_marker("dask")


@pytest.fixture(autouse=True)
def one_thread():
    """Leave the cores to the workers: threads that wait for each other take time."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def _make_client(cluster):
    """Yield a client of a cluster; a test leaves nothing on it."""
    from dask_data import wait_until_empty
    from distributed import Client

    with Client(cluster) as client:
        yield client
        client.wait_for_workers(2, timeout=30)
        if wait_until_empty(client, seconds=0.5):
            gc.collect()  # errors and what raised them refer to each other
        left = wait_until_empty(client)
        assert not left, f"left on the cluster: {left}"


@pytest.fixture(scope="session")
def threads():
    """Return a cluster of two workers that are threads of this process."""
    from distributed import LocalCluster

    # No limit: what all workers and the tests take together would count for each.
    with LocalCluster(
        processes=False,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        memory_limit=0,
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def processes():
    """Return a cluster of two worker processes with one thread each."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="2GB"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def mended():
    """Return a cluster of two worker processes that are started again if killed."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def own_cluster(mended):
    """Return a client of a cluster whose workers a test may kill."""
    from distributed import Client

    with Client(mended) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def client(threads):
    """Return a client of the cluster of threads."""
    yield from _make_client(threads)


@pytest.fixture
def process_client(processes):
    """Return a client of the cluster of processes."""
    yield from _make_client(processes)
