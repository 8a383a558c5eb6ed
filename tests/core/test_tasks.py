"""Python functions in the threads of kernels."""

import pytest
from sklearn_bandit._core.tasks import run_tasks


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 7])
def test_each_task_once(n_tasks, n_threads):
    done = []
    run_tasks(done.append, list(range(n_tasks)), n_threads)
    assert sorted(done) == list(range(n_tasks))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_errors_are_raised(n_threads):
    def fail(task):
        raise ValueError(f"task {task}")

    with pytest.raises(ValueError, match="task"):
        run_tasks(fail, [0, 1, 2], n_threads)
