"""BanditSelectKBest of any parameters on any data."""

import numpy as np
from fuzz_checks import accepted, attempt, build, require_equal_fits, require_finite
from fuzz_profile import fuzzed
from fuzz_strategies import DENSE, PLAIN, learning_cases

from sklearn_bandit.feature_selection import BanditSelectKBest

SELECTORS = (BanditSelectKBest,)
NO_WEIGHTS = ("none",)


def fitted(case, **changes):
    selector, X, y, _ = build(case)
    selector.set_params(**changes)
    attempt(selector.fit, X, y)
    return selector, X, y


@fuzzed(
    learning_cases(
        SELECTORS,
        weights=NO_WEIGHTS,
        layouts=DENSE,
        infinite=True,
        missing=("none",) * 9 + ("some",),
    ),
    n_short=60,
)
def test_an_answer_or_a_clear_error(case):
    selector, X, _ = accepted(fitted, case)
    chosen = accepted(attempt, selector.transform, X)
    n_features = selector.n_features_in_
    k = n_features if selector.k == "all" else min(selector.k, n_features)
    assert chosen.shape[1] == selector.get_support().sum() == k
    require_finite("scores_", selector.scores_)
    assert 0 < selector.n_values_read_ <= np.prod(np.shape(X))


@fuzzed(learning_cases(SELECTORS, weights=NO_WEIGHTS, most_features=65, **PLAIN))
def test_equal_fits_have_equal_pickles(case):
    require_equal_fits(fitted, case)
