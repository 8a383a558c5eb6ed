"""What tests of trees share."""

import pytest
from early_policy import early_policy

from sklearn_bandit.ensemble._forest import BanditForest
from sklearn_bandit.tree._bandit_tree import BanditTree


@pytest.fixture
def samples_early(monkeypatch):
    """Let trees and forests sample small data, on which that does not pay."""
    for cls in (BanditTree, BanditForest):
        monkeypatch.setattr(cls, "_sampling_policy", early_policy())
