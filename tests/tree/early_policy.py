"""A policy for tests: trees sample as soon as they can, whether or not that pays."""

from sklearn_bandit.tree._policy import SamplingPolicy


def early_policy(**fields):
    """Return a policy that samples nodes of some 8,000 rows for any few features."""
    early = {
        "min_rows_by_square": 1,
        "min_rows_by_square_real": 1,
        "min_rows_by_square_drawn": 1,
        "min_rows_by_square_drawn_real": 1,
        "min_rows_real": SamplingPolicy.min_rows,
        "min_drawn": 4,
        "min_subsampled_features": 1,
    }
    return SamplingPolicy(**{**early, **fields})
