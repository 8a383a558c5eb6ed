"""Samples of the races of k-medoids."""

import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA

from ..data import load


def mnist(n=70_000, seed=0):
    """A random subset of MNIST's 70,000 digits, pixels in 0..1."""
    data = load("mnist")
    X = np.concatenate([data.X_train, data.X_test]).reshape(-1, 784)
    order = np.random.default_rng(seed).permutation(len(X))[:n]
    return X[order].astype(np.float32) / 255


def mnist_pca(n, seed):
    """The first ten principal components of MNIST."""
    X = mnist(seed=seed)
    return PCA(10, random_state=0).fit_transform(X)[:n].astype(np.float32)


def covertype(n, seed):
    """The ten numerical columns of covertype, standardised."""
    X = load("covtype").X[:, :10].astype(np.float32)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


def pbmc(n=2700, seed=0):
    """Cells by the 2,000 most variable genes, log counts."""
    counts = load("pbmc3k_counts").X.toarray()
    genes = np.argsort(-counts.var(axis=0))[:2000]
    X = np.log1p(counts[:, genes]).astype(np.float32)
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


def digits(n, seed):
    """Scikit-learn's small digits."""
    X = load_digits().data.astype(np.float32)
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


def repeated_rows(n, d, n_different, seed):
    """Blobs of `n_different` different rows, each of them several times."""
    rng = np.random.default_rng(seed)
    rows, _ = make_blobs(n_different, d, centers=30, cluster_std=5.0, random_state=seed)
    which = np.concatenate(
        [np.arange(n_different), rng.integers(0, n_different, n - n_different)]
    )
    return rows.astype(np.float32)[rng.permutation(which)]
