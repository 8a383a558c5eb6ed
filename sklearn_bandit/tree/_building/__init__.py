"""How a tree comes to be, from an estimator's parameters to scikit-learn's tree.

- ``training_set``: what all trees of a fit share; makes the criterion of each tree
- ``build``: parameters, the choice of a splitter, one tree
- ``builder``: nodes, depth first or best first; ``leaf_queue``: the leaves among which
  the best is split first; ``node_buffer``: memory
- ``subtrees``: a single tree in several threads
- ``subsample`` and ``route``: a shallow tree on very many samples, of which only some
  are packed
- ``export``: a genuine tree of scikit-learn from these nodes
"""
