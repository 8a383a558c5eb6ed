"""A cluster of two worker processes, shared by the tests of a module."""

import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two workers with one thread each."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="2GB"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """Return a client of the cluster; a test leaves nothing on it."""
    from distributed import Client

    with Client(cluster) as client:
        yield client
        client.wait_for_workers(2, timeout=30)
        from dask_data import wait_until_empty

        left = wait_until_empty(client)
        assert not left, f"left on the cluster: {left}"
