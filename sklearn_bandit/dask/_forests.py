"""Trees and forests of dask collections: the classes."""

from sklearn_bandit import ensemble, tree

from ._trees import DaskForestMixin, DaskTreesMixin


class DecisionTreeClassifier(
    DaskTreesMixin, tree.DecisionTreeClassifier, local_class=tree.DecisionTreeClassifier
):
    """A decision tree classifier of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.tree.DecisionTreeClassifier`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one.

    See Also
    --------
    sklearn_bandit.tree.DecisionTreeClassifier : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import DecisionTreeClassifier
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    ...     score = tree.score(X, y)
    >>> score > 0.8
    True
    """


class DecisionTreeRegressor(
    DaskTreesMixin, tree.DecisionTreeRegressor, local_class=tree.DecisionTreeRegressor
):
    """A decision tree regressor of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.tree.DecisionTreeRegressor`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one.

    See Also
    --------
    sklearn_bandit.tree.DecisionTreeRegressor : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import DecisionTreeRegressor
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = X[:, 0]
    >>> with Client(processes=False, dashboard_address=None):
    ...     tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y)
    ...     score = tree.score(X, y)
    >>> score > 0.8
    True
    """


class RandomForestClassifier(
    DaskForestMixin,
    ensemble.RandomForestClassifier,
    local_class=ensemble.RandomForestClassifier,
):
    """A random forest classifier of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.ensemble.RandomForestClassifier`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one. ``n_jobs`` is for prediction; trees grow on the threads of the
    workers.

    See Also
    --------
    sklearn_bandit.ensemble.RandomForestClassifier : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import RandomForestClassifier
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    ...     score = forest.score(X, y)
    >>> score > 0.8
    True
    """


class RandomForestRegressor(
    DaskForestMixin,
    ensemble.RandomForestRegressor,
    local_class=ensemble.RandomForestRegressor,
):
    """A random forest regressor of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.ensemble.RandomForestRegressor`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one. ``n_jobs`` is for prediction; trees grow on the threads of the
    workers.

    See Also
    --------
    sklearn_bandit.ensemble.RandomForestRegressor : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import RandomForestRegressor
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = X[:, 0]
    >>> with Client(processes=False, dashboard_address=None):
    ...     forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    ...     score = forest.score(X, y)
    >>> score > 0.8
    True
    """


class ExtraTreesClassifier(
    DaskForestMixin,
    ensemble.ExtraTreesClassifier,
    local_class=ensemble.ExtraTreesClassifier,
):
    """An extra-trees classifier of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.ensemble.ExtraTreesClassifier`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one. ``n_jobs`` is for prediction; trees grow on the threads of the
    workers.

    See Also
    --------
    sklearn_bandit.ensemble.ExtraTreesClassifier : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import ExtraTreesClassifier
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     forest = ExtraTreesClassifier(n_estimators=5, random_state=0).fit(X, y)
    ...     score = forest.score(X, y)
    >>> score > 0.8
    True
    """


class ExtraTreesRegressor(
    DaskForestMixin,
    ensemble.ExtraTreesRegressor,
    local_class=ensemble.ExtraTreesRegressor,
):
    """An extra-trees regressor of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.ensemble.ExtraTreesRegressor`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one. ``n_jobs`` is for prediction; trees grow on the threads of the
    workers.

    See Also
    --------
    sklearn_bandit.ensemble.ExtraTreesRegressor : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import ExtraTreesRegressor
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = X[:, 0]
    >>> with Client(processes=False, dashboard_address=None):
    ...     forest = ExtraTreesRegressor(n_estimators=5, random_state=0).fit(X, y)
    ...     score = forest.score(X, y)
    >>> score > 0.8
    True
    """


class RandomPatchesClassifier(
    DaskForestMixin,
    ensemble.RandomPatchesClassifier,
    local_class=ensemble.RandomPatchesClassifier,
):
    """A random patches classifier of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.ensemble.RandomPatchesClassifier`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one. ``n_jobs`` is for prediction; trees grow on the threads of the
    workers.

    See Also
    --------
    sklearn_bandit.ensemble.RandomPatchesClassifier : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import RandomPatchesClassifier
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     forest = RandomPatchesClassifier(n_estimators=5, random_state=0).fit(X, y)
    ...     score = forest.score(X, y)
    >>> score > 0.8
    True
    """


class RandomPatchesRegressor(
    DaskForestMixin,
    ensemble.RandomPatchesRegressor,
    local_class=ensemble.RandomPatchesRegressor,
):
    """A random patches regressor of dask collections.

    Parameters and attributes are those of
    :class:`sklearn_bandit.ensemble.RandomPatchesRegressor`,
    and one parameter more: ``client``, the :class:`distributed.Client` to use, None for
    the current one. ``n_jobs`` is for prediction; trees grow on the threads of the
    workers.

    See Also
    --------
    sklearn_bandit.ensemble.RandomPatchesRegressor : The local estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import RandomPatchesRegressor
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = X[:, 0]
    >>> with Client(processes=False, dashboard_address=None):
    ...     forest = RandomPatchesRegressor(n_estimators=5, random_state=0).fit(X, y)
    ...     score = forest.score(X, y)
    >>> score > 0.8
    True
    """
