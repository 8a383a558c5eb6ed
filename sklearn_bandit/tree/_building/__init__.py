"""How a tree comes to be, from parameters to scikit-learn's tree."""
