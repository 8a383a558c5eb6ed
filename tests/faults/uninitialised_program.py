"""Print a fingerprint of fitted models and their answers, one line a family."""

import hashlib
import pickle

import numpy as np
from fault_families import FAMILIES, answer, make_data, make_family

from sklearn_bandit.neighbors import BanditMIPS


def fingerprint(*values):
    return hashlib.sha256(pickle.dumps(values)).hexdigest()


def main():
    for name in FAMILIES:
        # Enough rows to be sampled, but for the slow criterion.
        n_samples = 1000 if name == "tree, absolute error" else 10_000
        X, y = make_data(name, n_samples, 12)
        model = make_family(name).fit(X, y)
        found = answer(model, X)
        print(name, fingerprint(model, found))
    # Few entries of these queries are in the first sample.
    rng = np.random.default_rng(0)
    atoms = rng.integers(-2, 3, (16, 20_001)).astype(np.float32)
    queries = rng.standard_normal((17, 20_001)).astype(np.float32)
    queries[rng.random(queries.shape) < 0.9] = 0.0
    search = BanditMIPS(2, delta=5e-324, random_state=1).fit(atoms)
    found = search.kneighbors(queries)
    print("search, sparse queries", fingerprint(found, search.n_multiplications_))


if __name__ == "__main__":
    main()
