"""Models and data in files that other processes write, cut short or delete."""

import os
import pickle

import joblib
import numpy as np
import pytest
from fault_families import FAMILIES, answer, make_data, make_family
from fault_processes import run_apart
from fault_programs import load_and_answer


def test_models_go_to_another_process(tmp_path):
    models = {}
    for family in FAMILIES:
        X, y = make_data(family, 300, 8)
        model = make_family(family).fit(X, y)
        models[family] = model, X, y, answer(model, X)
    path = tmp_path / "models"
    path.write_bytes(pickle.dumps(models))
    assert run_apart(load_and_answer, path) == (0, [])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_file_that_is_cut_short(family, tmp_path):
    """It does not load, wherever the cut is."""
    X, y = make_data(family, 300, 8)
    whole = pickle.dumps(make_family(family).fit(X, y))
    for share in (0.1, 0.5, 0.9, 0.999):
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            pickle.loads(whole[: int(share * len(whole))])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_mapped_file_is_deleted(family, tmp_path):
    """What is mapped stays, so that models may keep it, and go to other processes."""
    X, y = make_data(family, 300, 8)
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    said = answer(make_family(family).fit(X, y), X)
    model = make_family(family).fit(mapped, y)
    if os.name != "nt":
        path.unlink()
    np.testing.assert_array_equal(answer(model, mapped), said)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answer(other, X), said)


def test_a_mapped_file_that_is_too_short(tmp_path):
    """A file that ends before the array is refused before anything is read of it.

    One that is cut while it is mapped ends any process that reads it (SIGBUS): that is
    the system's doing, and nothing that Python code could turn into an error.
    """
    path = tmp_path / "model"
    X, y = make_data("forest", 3_000, 20)
    model = make_family("forest").fit(X, y)
    joblib.dump((X, model), path)
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises((ValueError, EOFError, pickle.UnpicklingError)):
        joblib.load(path, mmap_mode="r")
    np.save(tmp_path / "X.npy", X)
    with (tmp_path / "X.npy").open("rb+") as file:
        file.truncate(10_000)
    with pytest.raises(ValueError, match="greater than file size"):
        np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("family", FAMILIES)
def test_fits_in_other_processes_of_joblib(family):
    """loky maps large arrays read-only into its processes; nothing else changes."""
    X, y = make_data(family, 3_000, 50)
    said = answer(make_family(family).fit(X, y), X)
    run = joblib.Parallel(n_jobs=2, backend="loky", max_nbytes=1_000)
    fits = run(joblib.delayed(make_family(family).fit)(X, y) for _ in range(2))
    for model in fits:
        np.testing.assert_array_equal(answer(model, X), said)


@pytest.mark.parametrize("family", ["forest", "extra trees", "patches"])
def test_trees_of_a_forest_in_other_processes(family):
    X, y = make_data(family, 3_000, 20)
    here = make_family(family).fit(X, y)
    with joblib.parallel_backend("loky", n_jobs=2):
        there = make_family(family).set_params(n_jobs=None).fit(X, y)
    np.testing.assert_array_equal(answer(here, X), answer(there, X))
