"""Syntax trees and their edit distance: objects without coordinates."""

from functools import lru_cache

import numpy as np


def expression_trees(n, seed):
    """Different trees, as the thesis's are: copies of a medoid would be ties."""
    rng = np.random.default_rng(seed)
    forest = {}
    while len(forest) < n:
        forest[expression_tree(rng, depth=3)] = None
    return list(forest)


def expression_tree(rng, depth):
    """A random arithmetic expression: (operator, children)."""
    if depth == 0 or rng.random() < 0.2:
        return (str(rng.choice(["x", "y", "0", "1"])), ())
    operator = str(rng.choice(["+", "*", "-", "if", "call"]))
    n_children = {"if": 3, "call": 1}.get(operator, 2)
    return operator, tuple(expression_tree(rng, depth - 1) for _ in range(n_children))


@lru_cache(maxsize=2**20)
def tree_size(tree):
    """Number of nodes."""
    return 1 + sum(map(tree_size, tree[1]))


@lru_cache(maxsize=2**18)
def tree_distance(a, b):
    """Top-down edit distance: relabel a node, insert or delete whole subtrees."""
    (label_a, children_a), (label_b, children_b) = a, b
    row = [0]
    for child in children_b:
        row.append(row[-1] + tree_size(child))
    for left in children_a:
        cost = tree_size(left)
        new = [row[0] + cost]
        for j, right in enumerate(children_b):
            new.append(
                min(
                    row[j] + tree_distance(left, right),
                    row[j + 1] + cost,
                    new[j] + tree_size(right),
                )
            )
        row = new
    return row[-1] + (label_a != label_b)
