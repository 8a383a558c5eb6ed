"""How one tree is grown, best leaf first.

- ``grower``: takes one leaf after the other, within ``growth_options``
- ``tree_sample``: the rows of a tree that does not see all; ``sampled_pairs``: their
  gradients and hessians
- ``histogram``: sums of gradients and hessians of a node, by bin; ``insertions``: of
  rows into them
- ``split_search``: the best split of a node; ``splits``: of one feature;
  ``feature_choice``: which features are searched
- ``partition``: rows of a node, sorted into the sides of its split
- ``tree_nodes``: the nodes; ``monotonic``: bounds of their values
- ``predictor``: the tree as scikit-learn's ``TreePredictor``
"""
