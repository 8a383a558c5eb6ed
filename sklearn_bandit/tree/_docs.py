"""Docstrings of trees and forests, put together from what they have in common.

A class is decorated with :func:`document`; its parameters are described in the order of
its signature, each by the text below, so that a parameter reads the same wherever it
occurs.
"""

import inspect

from sklearn_bandit._core.docstrings import assemble, entry

PARAMETERS = {
    "n_estimators": """
        int, default=100
        Number of trees. With `max_insertions` it is the most that are grown.""",
    "criterion_classifier": """
        {"gini", "entropy", "log_loss"}, default="gini"
        What a split is to decrease: the Gini impurity or the Shannon entropy (two names
        for the same).""",
    "criterion_regressor": """
        {"squared_error", "friedman_mse", "poisson", "absolute_error"}, \
default="squared_error"
        What a split is to decrease: the squared error ("friedman_mse" is the same),
        half the Poisson deviance, for counts and frequencies, or the absolute error,
        which is robust and slow, and is always searched exactly.""",
    "splitter": """
        {{"best", "random"}}, default="{default}"
        Whether all thresholds of a feature are tried or random ones.""",
    "max_depth": """
        int, default=None
        Most levels below the root; None for no limit.""",
    "min_samples_split": """
        int or float, default=2
        Nodes with fewer samples become leaves; a float is a share of all samples.""",
    "min_samples_leaf": """
        int or float, default=1
        Splits that leave fewer samples on a side are not made; a float is a share of
        all samples. Above 1 the rows of each bin have to be counted, which costs
        time.""",
    "min_weight_fraction_leaf": """
        float, default=0.0
        Splits that leave a smaller share of the total weight on a side are not
        made.""",
    "max_features": """
        {{"sqrt", "log2"}}, int or float, default={default}
        Number of features to look at in each node (a float: share of them; None: all).
        They are drawn among the features that still vary in the node; scikit-learn
        counts constant ones that it happens to draw. Fewer make trees faster and more
        diverse.""",
    "random_state": """
        int, RandomState instance or None, default=None
        Controls all random choices: bootstrap samples, features, thresholds and the
        rows that the bandit samples. The model does not depend on the number of
        threads.""",
    "max_leaf_nodes": """
        int, default=None
        Grow best first, to at most that many leaves; None grows depth first, which is
        faster per node.""",
    "min_impurity_decrease": """
        float, default=0.0
        Splits that decrease the impurity (weighted by the node's share of the data) by
        less are not made.""",
    "class_weight": """
        dict, list of dict, "balanced"{forest} or None, default=None
        Weights of the classes; "balanced" gives every class the same total
        weight{more}.""",
    "ccp_alpha": """
        non-negative float, default=0.0
        Complexity parameter of minimal cost-complexity pruning; 0 does not prune.""",
    "monotonic_cst": """
        array-like of int of shape (n_features,), default=None
        Monotonic constraints: 1 the prediction (probability of the second class) must
        not decrease with the feature, -1 it must not increase, 0 none. Nodes are then
        searched exactly.""",
    "bootstrap": """
        bool, default={default}
        Whether each tree sees a bootstrap sample or the whole training set.""",
    "oob_score": """
        bool or callable, default=False
        Whether to score on out-of-bag samples; a callable is the metric
        ``metric(y_true, y_pred)``. Needs `bootstrap`.""",
    "n_jobs": """
        int, default=None
        Number of threads that grow trees and predict; None means 1 unless in a
        :obj:`joblib.parallel_backend` context, -1 all processors.""",
    "verbose": """
        int, default=0
        How much to report while fitting and predicting.""",
    "warm_start": """
        bool, default=False
        Add trees to those of the last fit instead of growing all anew.""",
    "max_samples": """
        int or float, default=None
        Draws of each bootstrap sample (a float: share of the samples). Trees on fewer
        samples are faster; shallow ones hardly suffer, deep ones do.""",
    "n_thresholds": """
        int or "sqrt", default=1
        Number of random thresholds per feature and node, of which the best is taken; 1
        as in scikit-learn, "sqrt" of the number of features as in the thesis. More make
        trees better and more alike.""",
    "patch_samples": """
        float, default=0.7
        Share of the samples in the patch that the whole forest sees.""",
    "patch_features": """
        float, default=0.85
        Share of the features in the patch.""",
    "solver": """
        {"mab", "exact", "auto", "mab-thesis"}, default="mab"
        How splits are searched: "mab" samples rows in large nodes, with 8,000 of them
        or more (64,000 where regressors search all features), until the best feature
        is known (MABSplit), "exact" always uses all rows, "auto" samples from 50,000
        rows on. Smaller nodes are searched exactly by all of them. "mab-thesis" is the
        rule of the thesis that MABSplit comes from, with an arm for every threshold:
        for comparison.""",
    "max_bins": """
        int, default=255
        Bins per feature, at most 255. Features with no more distinct values lose
        nothing. Of others, large nodes only see quantiles, while nodes with at most 255
        samples use the values themselves; with 255 bins and at most 32,767 samples in
        all (8,000 in forests that may sample), so does every node that is searched
        exactly. Fewer bins are faster.""",
    "delta": """
        float, default=0.01
        Probability, per node, that a feature is chosen whose gain is smaller than the
        best one's by more than the tolerance. Smaller needs more samples; 0 is
        exact.""",
    "batch_size": """
        int, default=2048
        Rows of the first sample in a node; it doubles until the search is decided.
        Nodes with fewer than four times as many rows are searched exactly.""",
    "tol": """
        float, default=0.1
        Near ties: features whose gain is smaller than the best by at most this share of
        it, or by a fiftieth of this share of the node's impurity (a tenth where all
        features are searched; not if thresholds are random), count as equally good.
        With 0 the bandit goes on until exact histograms decide between close
        rivals.""",
    "max_insertions": """
        int, default=None
        Budget of insertions into histograms{budget}; nodes whose
        search it does not allow become leaves. It is never exceeded.""",
}

ATTRIBUTES = {
    "classes_": "ndarray of shape (n_classes,), or list of them\n    The class labels.",
    "n_classes_": "int or list of int\n    Number of classes (of each output).",
    "n_outputs_": "int\n    Number of outputs.",
    "n_features_in_": "int\n    Number of features seen during fit.",
    "feature_names_in_": (
        "ndarray of shape (`n_features_in_`,)\n    Feature names, if `X` had any."
    ),
    "feature_importances_": (
        "ndarray of shape (n_features,)\n    Share of each feature in the decrease of "
        "impurity."
    ),
    "max_features_": "int\n    Number of features looked at in a node.",
    "tree_": (
        "sklearn.tree._tree.Tree\n    The tree: a genuine tree of scikit-learn, for "
        "all tools that read these."
    ),
    "estimator_": "estimator\n    The template of the trees.",
    "estimators_": "list of estimators\n    The trees.",
    "estimators_samples_": "list of arrays\n    Samples that each tree was fitted to.",
    "oob_score_": "float\n    Out-of-bag score, if asked for.",
    "oob_decision_function_": (
        "ndarray of shape (n_samples, n_classes)\n    Out-of-bag probabilities, if "
        "asked for."
    ),
    "oob_prediction_": "ndarray of shape (n_samples,)\n    Out-of-bag predictions.",
    "patch_samples_": "ndarray of int\n    Samples of the patch.",
    "patch_features_": "ndarray of int\n    Features of the patch.",
    "n_insertions_": (
        "int\n    Insertions of a sample into a feature's histogram: what the search "
        "for splits cost."
    ),
}

TREE_ATTRIBUTES = ("tree_", "max_features_")
FOREST_ATTRIBUTES = ("estimator_", "estimators_", "estimators_samples_", "oob_score_")


def document(summary, *, details, example, kind, attributes=()):
    """Give a class its docstring.

    Parameters
    ----------
    summary, details : str
        First line and first paragraph.
    example : str
        Lines of the example.
    kind : {"tree", "forest"}
        What the class is.
    attributes : tuple of str
        Names of attributes beyond those of the kind.

    Returns
    -------
    callable
        A class decorator.
    """

    def decorate(cls):
        signature = inspect.signature(cls).parameters
        is_classifier = cls.__name__.endswith("Classifier")
        names = (
            *(TREE_ATTRIBUTES if kind == "tree" else FOREST_ATTRIBUTES),
            *attributes,
        )
        if is_classifier:
            names += ("classes_", "n_classes_")
        if kind == "forest":
            names += ("oob_decision_function_" if is_classifier else "oob_prediction_",)
        names += ("n_outputs_", "n_features_in_", "feature_names_in_")
        names += ("feature_importances_", "n_insertions_")
        cls.__doc__ = assemble(
            summary,
            details=details,
            parameters=(
                _describe(name, p, is_classifier, kind) for name, p in signature.items()
            ),
            attributes=(f"{name} : {ATTRIBUTES[name]}" for name in names),
            example=example,
        )
        return cls

    return decorate


def _describe(name, parameter, is_classifier, kind):
    """Entry of one parameter."""
    key = name
    if name == "criterion":
        key = "criterion_classifier" if is_classifier else "criterion_regressor"
    text = PARAMETERS[key]
    if name == "class_weight":
        forest = kind == "forest"
        text = text.format(
            forest=', "balanced_subsample"' if forest else "",
            more=', "balanced_subsample" in each bootstrap sample' if forest else "",
        )
    elif name == "max_insertions":
        whole = " for the whole forest (trees are grown until it\n        is used up)"
        text = text.format(budget=whole if kind == "forest" else "")
    elif "{default}" in text:
        default = parameter.default
        is_bare = name == "splitter" or not isinstance(default, str)
        text = text.format(default=default if is_bare else f'"{default}"')
    return entry(name, text)
