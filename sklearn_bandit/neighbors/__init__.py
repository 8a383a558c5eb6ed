"""Neighbours and inner products, without computing most of them.

``BanditNearestNeighbors`` finds exact neighbours in the dimensions of embeddings and
images: bounds from bytes drop nearly all rows, the others are computed in full.

- ``_nearest_neighbors``: the estimator
- ``_drop_ins``: scikit-learn's classifier, regressor and transformer with this search
- ``_quantized``: rows as bytes, their kernels, and the search in them
- ``_calls``: checks of arguments and graphs, for this search and the next

``BanditMIPS`` finds, in thousands of dimensions, the atoms with the largest inner
products with a query (thesis, chapter 4). Atoms are the arms, coordinates the
references, and a pull multiplies one coordinate of the query with that of an atom.

Data flows one way: validate (``_mips``), lay out (``_index``), choose a route for each
query (``_dispatch``), search without the interpreter (``_search`` and what it calls).

- ``_mips``: the estimator
- ``_all_scores``: the largest of all scores, where all of them are computed
- ``_sparse_index``: sparse atoms, whose products are all computed
- ``_index``: atoms in slots, with norms, components and a sample of coordinates
- ``_request``: what a call asks for, and how a search answers it
- ``_dispatch``: the route: sparse queries, coordinate sample, direct sampling, BLAS
- ``_description``: norms, largest entries and coefficients, in one pass over a vector
- ``_search``: the kernels' entry; ``_batches`` shares queries out among threads, and
  ``_query`` searches for one
- ``_coordinate_sample``: exact bounds, and the search in the coordinate sample
- ``_tile_sums``: the kernels of that search
- ``_direct_sampling``: the search in the atoms, by blocks or by weighted coordinates
- ``_survivors``: atoms that are not dropped yet, their leader, and when to give up
- ``_exact_products``: exact inner products; what is returned always comes from here
- ``_gemv``: all inner products of one query
- ``_answer``: what a search returns
"""

# For linear models and searches on a cluster; not part of the public interface.
from ._all_scores import largest_scores as largest_scores
from ._calls import check_ids as check_ids
from ._calls import check_mode as check_mode
from ._calls import check_n_neighbors as check_n_neighbors
from ._calls import neighbors_graph as neighbors_graph
from ._drop_ins import KNeighborsClassifier, KNeighborsRegressor, KNeighborsTransformer
from ._mips import BanditMIPS
from ._nearest_neighbors import BanditNearestNeighbors

__all__ = [
    "BanditMIPS",
    "BanditNearestNeighbors",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KNeighborsTransformer",
]
