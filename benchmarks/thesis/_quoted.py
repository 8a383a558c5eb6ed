"""What the thesis reports, by the label of its table. Nothing here is measured.

M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling", PhD
thesis, Stanford University (2023).
"""

# table:ff_classificationruntime. Seconds, histogram insertions, test accuracy.
TABLE_3_1 = {
    "MNIST": {
        "RF": ("1542.83", "1.44E+08", "0.777 ± 0.005"),
        "RF + MABSplit": ("40.359", "3.37E+06", "0.763 ± 0.008"),
        "ExtraTrees": ("1789.653", "1.68E+08", "0.762 ± 0.003"),
        "ExtraTrees + MABSplit": ("50.217", "4.32E+06", "0.755 ± 0.002"),
        "RP": ("1421.963", "1.32E+08", "0.771 ± 0.003"),
        "RP + MABSplit": ("38.415", "3.17E+06", "0.768 ± 0.003"),
    },
    "APS": {
        "RF": ("20.542", "3.77E+06", "0.985 ± 0.0"),
        "RF + MABSplit": ("0.455", "6.94E+04", "0.985 ± 0.0"),
        "ExtraTrees": ("18.849", "3.78E+06", "0.985 ± 0.0"),
        "ExtraTrees + MABSplit": ("0.406", "7.00E+04", "0.985 ± 0.0"),
        "RP": ("17.63", "3.22E+06", "0.985 ± 0.0"),
        "RP + MABSplit": ("0.399", "5.96E+04", "0.985 ± 0.0"),
    },
    "Covertype": {
        "RF": ("117.351", "1.86E+07", "0.559 ± 0.028"),
        "RF + MABSplit": ("0.88", "3.98E+04", "0.505 ± 0.004"),
        "ExtraTrees": ("117.984", "1.86E+07", "0.539 ± 0.022"),
        "ExtraTrees + MABSplit": ("2.942", "3.69E+05", "0.5 ± 0.005"),
        "RP": ("104.456", "1.62E+07", "0.51 ± 0.008"),
        "RP + MABSplit": ("0.815", "3.50E+04", "0.507 ± 0.005"),
    },
}

# table:ff_regressionruntime. Seconds, test MSE.
TABLE_3_2 = {
    "Beijing air": {
        "RF": ("138.782", "1164.576 ± 0.761"),
        "RF + MABSplit": ("67.089", "1109.542 ± 23.776"),
        "ExtraTrees": ("115.592", "1028.054 ± 11.355"),
        "ExtraTrees + MABSplit": ("53.607", "1015.234 ± 6.535"),
        "RP": ("108.174", "1128.299 ± 25.78"),
        "RP + MABSplit": ("60.639", "1125.816 ± 33.56"),
    },
    "SGEMM": {
        "RF": ("32.606", "69733.002 ± 57.401"),
        "RF + MABSplit": ("16.51", "69493.921 ± 73.133"),
        "ExtraTrees": ("30.624", "69734.948 ± 54.876"),
        "ExtraTrees + MABSplit": ("14.086", "69585.029 ± 80.281"),
        "RP": ("26.091", "66364.998 ± 894.568"),
        "RP + MABSplit": ("16.409", "66310.138 ± 896.237"),
    },
}

# table:ff_classificationbudget. Trees, test accuracy.
TABLE_3_3 = {
    "MNIST": {
        "RF": ("0.2", "0.143 ± 0.026"),
        "RF + MABSplit": ("15.8", "0.83 ± 0.002"),
        "ExtraTrees": ("0.2", "0.144 ± 0.027"),
        "ExtraTrees + MABSplit": ("12.0", "0.814 ± 0.001"),
        "RP": ("1.0", "0.253 ± 0.003"),
        "RP + MABSplit": ("16.8", "0.832 ± 0.002"),
    },
    "APS": {
        "RF": ("1.0", "0.985 ± 0.0"),
        "RF + MABSplit": ("5.8", "0.989 ± 0.0"),
        "ExtraTrees": ("1.0", "0.985 ± 0.0"),
        "ExtraTrees + MABSplit": ("5.6", "0.989 ± 0.0"),
        "RP": ("1.0", "0.985 ± 0.0"),
        "RP + MABSplit": ("6.8", "0.989 ± 0.0"),
    },
    "Covertype": {
        "RF": ("0.4", "0.514 ± 0.019"),
        "RF + MABSplit": ("99.8", "0.675 ± 0.002"),
        "ExtraTrees": ("0.2", "0.496 ± 0.006"),
        "ExtraTrees + MABSplit": ("23.4", "0.677 ± 0.002"),
        "RP": ("0.6", "0.534 ± 0.03"),
        "RP + MABSplit": ("100.0", "0.675 ± 0.002"),
    },
}

# table:ff_regressionbudget. Trees, test MSE.
TABLE_3_4 = {
    "Beijing air": {
        "RF": ("0.0", "3208.93 ± 0.0"),
        "RF + MABSplit": ("12.0", "927.013 ± 2.042"),
        "ExtraTrees": ("0.0", "3208.93 ± 0.0"),
        "ExtraTrees + MABSplit": ("9.0", "834.338 ± 4.377"),
        "RP": ("0.0", "3208.93 ± 0.0"),
        "RP + MABSplit": ("11.0", "875.764 ± 3.064"),
    },
    "SGEMM": {
        "RF": ("0.0", "131323.839 ± 0.0"),
        "RF + MABSplit": ("5.6", "28571.393 ± 357.433"),
        "ExtraTrees": ("0.0", "131323.839 ± 0.0"),
        "ExtraTrees + MABSplit": ("5.0", "29919.254 ± 344.409"),
        "RP": ("0.8", "102616.047 ± 6647.02"),
        "RP + MABSplit": ("2.8", "64876.329 ± 13350.921"),
    },
}

# table:ff_featureimportance. Stability, by data and importance.
TABLE_3_5 = {
    "RF": {
        ("classification", "MDI"): "0.536 ± 0.039",
        ("regression", "MDI"): "0.134 ± 0.021",
        ("classification", "permutation"): "0.579 ± 0.023",
        ("regression", "permutation"): "0.116 ± 0.017",
    },
    "RF + MABSplit": {
        ("classification", "MDI"): "0.863 ± 0.016",
        ("regression", "MDI"): "0.674 ± 0.043",
        ("classification", "permutation"): "0.69 ± 0.023",
        ("regression", "permutation"): "0.437 ± 0.044",
    },
}

# table:ff_app_2_scikit_learncomparison. The thesis's implementation, scikit-learn.
TABLE_B_1 = {
    ("RF", "20 newsgroups"): ("74.1 ± 2.8%", "76.2 ± 1.7%"),
    ("ExtraTrees", "20 newsgroups"): ("66.5 ± 5.1%", "62.6 ± 2.8%"),
    ("RF", "California housing"): ("0.679 ± 0.022", "0.672 ± 0.028"),
    ("ExtraTrees", "California housing"): ("0.696 ± 0.055", "0.695 ± 0.082"),
}

# table:ff_app_7_sklearn_time_comparison. Seconds, accuracy in per cent.
TABLE_B_2 = {
    "scikit-learn": ("34.665", "91.061 ± 0.0"),
    "exact": ("86.514", "90.923 ± 0.0"),
    "mab": ("8.538", "90.629 ± 0.234"),
}


def of_model(table, model, solver):
    """Return the thesis's figures for a model; both our bandits stand for MABSplit."""
    return table[model if solver == "exact" else f"{model} + MABSplit"]
