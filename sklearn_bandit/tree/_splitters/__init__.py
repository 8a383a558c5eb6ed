"""How a split is searched: exactly, by MABSplit, by the thesis's own rule."""
