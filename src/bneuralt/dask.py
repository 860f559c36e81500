"""Forests over a Dask cluster: collections of Dask in, an ordinary forest out.

The trees of a forest are independent, so each is trained where its rows are. See
docs/large_tables.md.
"""

from __future__ import annotations

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "bneuralt.dask needs Dask: pip install 'bneuralt[dask]'", name=error.name
    ) from None

from bneuralt.estimators.cluster import ClusterClassifier, ClusterRegressor, with_client

__all__ = ["BNeuralForestClassifier", "BNeuralForestRegressor"]


@with_client
class BNeuralForestClassifier(ClusterClassifier):
    """Average the class probabilities of trees that are trained on the partitions of a table.

    `fit` takes Dask data frames and arrays. The columns are described from all partitions, and
    every tree is trained on partitions that its worker holds, at most some million rows of them:
    the rows do not move. If a worker is lost, others do its work. `predict` and `predict_proba`
    return Dask collections. All else is as with `bneuralt.BNeuralForestClassifier`, and `to_local`
    returns one. `conformal`, `warm_start`, validation rows and callbacks are not possible.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the current one.
    **parameters
        Those of `bneuralt.BNeuralForestClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_wine
    >>> from bneuralt.dask import BNeuralForestClassifier
    >>> X, y = (da.from_array(array, chunks=60) for array in load_wine(return_X_y=True))
    >>> X = X.rechunk({1: -1})
    >>> with Client(n_workers=1, processes=False, dashboard_address=None) as client:
    ...     forest = BNeuralForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    ...     forest.predict(X).compute().shape
    (178,)
    """


@with_client
class BNeuralForestRegressor(ClusterRegressor):
    """Average the predictions of trees that are trained on the partitions of a table.

    See `bneuralt.dask.BNeuralForestClassifier`.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the current one.
    **parameters
        Those of `bneuralt.BNeuralForestRegressor`.
    """
