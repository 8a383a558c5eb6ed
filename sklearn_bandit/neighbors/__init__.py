"""Maximum inner product search whose cost does not grow with the dimension.

``BanditMIPS`` finds the atoms with the largest inner products with a query (thesis,
chapter 4). Atoms are the arms, coordinates the references, and a pull multiplies one
coordinate of the query with that of an atom.

Data flows one way: validate (``_mips``), lay out (``_index``), choose a route for each
query (``_dispatch``), search without the interpreter (``_search`` and what it calls).

- ``_mips``: the estimator
- ``_index``: atoms in slots, with norms, components and a head of sampled coordinates
- ``_dispatch``: sparse queries, the head, sampling from the atoms, BLAS
- ``_gemv``: all inner products of one query
- ``_search``: the kernels' entry; ``_batches`` shares queries out among threads
- ``_coordinate_sample``: exact bounds, and the search in the head
- ``_direct_sampling``: the search without a head, by blocks or by weighted coordinates
- ``_survivors``: atoms still in the race, their pivot, and when to give up
- ``_exact_products``: exact inner products; what is returned always comes from here
"""

from ._mips import BanditMIPS

__all__ = ["BanditMIPS"]
