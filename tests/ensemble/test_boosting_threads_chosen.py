"""Trees are grown by one thread while other programs use the processors."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn_bandit._core.thread_start import start_threads

from sklearn_bandit.ensemble import HistGradientBoostingClassifier
from sklearn_bandit.ensemble._boosting import thread_choice
from sklearn_bandit.ensemble._boosting.thread_choice import TRIAL, ThreadChoice


def grow(choice, n_trees, seconds, share):
    """Grow trees; return the numbers of threads that grew them.

    `seconds` are those of a tree by number of threads, `share` what part of them the
    threads ran.
    """
    found = []
    for _ in range(n_trees):
        n = choice.n_threads
        found.append(n)
        choice.note(seconds[n], share[n] * n * seconds[n], work=1000)
    return found


def test_all_threads_where_nothing_disturbs():
    choice = ThreadChoice(4)
    assert set(grow(choice, 50, {4: 1.0}, {4: 0.95})) == {4}


def test_one_thread_where_all_wait():
    choice = ThreadChoice(2)
    found = grow(choice, 2 * TRIAL, {1: 2.0, 2: 30.0}, {1: 1.0, 2: 0.4})
    assert found[:3] == [2, 1, 1]
    assert found.count(2) <= 3


def test_all_threads_where_one_is_slower():
    """Threads that sleep while they wait do not run, but may be faster all the same."""
    choice = ThreadChoice(2)
    found = grow(choice, 2 * TRIAL, {1: 2.0, 2: 1.2}, {1: 1.0, 2: 0.6})
    assert found[:3] == [2, 1, 2]
    assert found.count(1) <= 3


def test_all_threads_again_once_processors_are_free():
    choice = ThreadChoice(2)
    grow(choice, 5, {1: 2.0, 2: 30.0}, {1: 1.0, 2: 0.4})
    found = grow(choice, 2 * TRIAL, {1: 2.0, 2: 1.2}, {1: 1.0, 2: 1.0})
    assert found[0] == 1
    assert set(found[TRIAL:]) == {2}


def test_one_thread_is_all_there_is():
    choice = ThreadChoice(1)
    assert set(grow(choice, 40, {1: 1.0}, {1: 0.1})) == {1}


@pytest.mark.parametrize("solver", ["exact", "mab"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_model(monkeypatch, solver, n_classes):
    X, y = make_classification(
        20_000, n_informative=6, n_classes=n_classes, random_state=0
    )
    model = HistGradientBoostingClassifier(
        solver=solver,
        batch_size=2048,
        max_iter=20,
        early_stopping=False,
        random_state=0,
    )
    expected = model.fit(X, y).decision_function(X)
    used = set()
    choose = ThreadChoice.note

    def note(self, *args):
        used.add(self.n_threads)
        choose(self, *args)

    monkeypatch.setattr(ThreadChoice, "note", note)
    monkeypatch.setattr(thread_choice, "process_time", lambda: 0.0)  # none ever runs
    found = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(found, expected)
    if n_classes == 2:  # three trees of an iteration may have a thread each
        assert used == {1, start_threads(None)}
