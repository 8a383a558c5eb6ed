"""The results of a race in the form of scikit-learn's ``cv_results_``."""

import warnings

import numpy as np
from scipy.stats import rankdata


class Outcomes:
    """What scikit-learn returned of every fit, by candidate and fold.

    Parameters
    ----------
    candidates : list of dict
        Parameters.
    n_folds : int
        Number of folds of the full search.
    error_score : float or "raise"
        The score of a fit that failed.
    """

    def __init__(self, candidates, n_folds, error_score):
        self.candidates = candidates
        self.error_score = error_score
        self.cells = [[None] * n_folds for _ in candidates]
        self.failed = np.zeros((len(candidates), n_folds), dtype=bool)

    def add(self, candidate, fold, outcome):
        """Keep an outcome; without the contributions, which the race has."""
        for key in ("test_scores", "train_scores"):
            if isinstance(outcome.get(key), dict):
                outcome[key] = {k: float(v) for k, v in outcome[key].items()}
            elif key in outcome:
                outcome[key] = float(outcome[key])
        self.cells[candidate][fold] = outcome

    def complete(self):
        """All cells, candidate by candidate; NaN where nothing was computed."""
        known = next(cell for row in self.cells for cell in row if cell is not None)
        nothing, error = _filled(known, np.nan), _filled(known, self.error_score)
        return [
            (error if self.failed[i, k] else nothing) if cell is None else cell
            for i, row in enumerate(self.cells)
            for k, cell in enumerate(row)
        ]


def _filled(outcome, score):
    """An outcome of the same form with one value for all scores."""
    filled = dict.fromkeys(outcome, np.nan)
    for key in ("test_scores", "train_scores"):
        if isinstance(outcome.get(key), dict):
            filled[key] = dict.fromkeys(outcome[key], score)
        elif key in outcome:
            filled[key] = score
    return filled


def race_results(format_results, outcomes, race, dropped_after):
    """Make ``cv_results_``.

    Parameters
    ----------
    format_results : callable
        Scikit-learn's, for a search in which every candidate has every fold.
    outcomes : Outcomes
        What was computed.
    race : Race
        Who survived.
    dropped_after : ndarray of shape (n_candidates,)
        Folds done when a candidate was dropped; 0 for survivors.

    Returns
    -------
    dict
        Means and deviations are over the folds done. Survivors have the first ranks,
        then those that were dropped last; candidates without a score share the last.
    """
    cells = outcomes.complete()
    n_folds = race.n_folds
    with warnings.catch_warnings():
        # Of means that are not numbers: a warning about those that matter is below.
        warnings.simplefilter("ignore")
        results = format_results(outcomes.candidates, n_folds, cells)
    n_done = race.is_done.sum(axis=1)
    results["n_folds_done"] = n_done
    results["dropped_after"] = np.ma.MaskedArray(dropped_after, dropped_after == 0)
    for key in ("fit_time", "score_time"):
        values = np.array([cell[key] for cell in cells]).reshape(-1, n_folds)
        _store_moments(results, key, values, race.is_done & ~np.isnan(values))
    for mean in [key for key in results if key.startswith(("mean_test", "mean_train"))]:
        key = mean.removeprefix("mean_")
        splits = [results[f"split{k}_{key}"] for k in range(n_folds)]
        means = _store_moments(results, key, np.stack(splits, axis=1), race.is_done)
        if not np.isfinite(means).all():
            kind = key.partition("_")[0]
            warnings.warn(
                f"One or more of the {kind} scores are non-finite: {means}",
                category=UserWarning,
                stacklevel=2,
            )
        if key.startswith("test"):
            results[f"rank_{key}"] = _ranks(means, n_done, race.is_survivor)
    return results


def _store_moments(results, key, values, is_done):
    """Store mean and standard deviation over the folds done; return the means."""
    n_done = is_done.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if n_done.min() == values.shape[1]:  # as scikit-learn, to the last bit
            means, stds = values.mean(axis=1), values.std(axis=1)
        else:
            rows = [row[done] for row, done in zip(values, is_done, strict=True)]
            means = np.array([row.mean() if len(row) else np.nan for row in rows])
            stds = np.array([row.std() if len(row) else np.nan for row in rows])
    results[f"mean_{key}"], results[f"std_{key}"] = means, stds
    return means


def _ranks(means, n_done, is_survivor):
    """Rank survivors first, then by the folds done, then by mean; NaN last."""
    failed = np.isnan(means)
    if failed.all():
        return np.ones(len(means), dtype=np.int32)
    order = np.lexsort((-np.where(failed, 0, means), -n_done, ~is_survivor, failed))
    keys = np.column_stack([failed, ~is_survivor, -n_done, -np.where(failed, 0, means)])
    keys[failed] = [1, 0, 0, 0]
    new = np.any(keys[order][1:] != keys[order][:-1], axis=1)
    place = np.empty(len(means))
    place[order] = np.concatenate([[0], np.cumsum(new)])
    return rankdata(place, method="min").astype(np.int32)
