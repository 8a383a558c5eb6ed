"""How repeated measurements are put into a cell."""

import numpy as np


def mean_and_error(values, digits=3):
    """Return the mean and its standard error, as the thesis gives them."""
    mean = np.mean(values)
    if len(values) < 2:
        return f"{mean:.{digits}f}"
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def slope(sizes, costs):
    """Return the exponent of growth: the slope of the line of best fit, log-log."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
