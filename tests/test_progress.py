"""verbose and callbacks of long fits."""

import pytest
from sklearn.base import BaseEstimator

from sklearn_bandit._compat import HAS_CALLBACKS, with_callbacks
from sklearn_bandit._progress import ProgressMixin


class Stepper(ProgressMixin, BaseEstimator):
    def __init__(self, n_steps=3, fail_at=None, verbose=0):
        self.n_steps = n_steps
        self.fail_at = fail_at
        self.verbose = verbose

    @with_callbacks
    def fit(self, X=None, y=None):
        with self._progress(self.n_steps) as progress:
            for i in range(self.n_steps):
                with progress.step("count"):
                    if i == self.fail_at:
                        raise KeyboardInterrupt
        self.done_ = True
        return self


def test_verbose(capsys):
    Stepper(verbose=0).fit()
    assert capsys.readouterr().out == ""
    Stepper(verbose=1).fit()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("[Stepper] step 2 of at most 3: count")


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
def test_callbacks_see_every_step(recorder):
    Stepper().set_callbacks(recorder).fit()
    steps = ["begin count", "end count"] * 3
    expected = ["setup", "begin fit", *steps, "end fit", "teardown"]
    assert recorder.events == expected


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
def test_interrupted_fit_tears_down(recorder):
    stepper = Stepper(fail_at=1).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        stepper.fit()
    assert recorder.events[-1] == "teardown"
    assert not hasattr(stepper, "done_")


@pytest.mark.skipif(HAS_CALLBACKS, reason="scikit-learn has callbacks")
def test_without_callbacks_there_is_no_setter():
    assert not hasattr(Stepper(), "set_callbacks")
