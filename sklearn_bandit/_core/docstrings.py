"""Docstrings of estimators, put together from texts that several of them share."""

from textwrap import dedent, indent


def assemble(summary, *, details, parameters, attributes, example):
    """Put the docstring of a class together.

    Parameters
    ----------
    summary, details : str
        First line and first paragraph.
    parameters, attributes : iterable of str
        Their entries.
    example : str
        Lines of the example.

    Returns
    -------
    str
        The docstring, in numpydoc's form.
    """
    return "\n".join(
        [
            summary,
            "",
            dedent(details).strip(),
            "",
            "Parameters\n----------",
            *parameters,
            "",
            "Attributes\n----------",
            *attributes,
            "",
            "Examples\n--------",
            dedent(example).strip(),
            "",
        ]
    )


def entry(name, text):
    """Entry of a parameter: its type is the first line of the text."""
    first, *rest = dedent(text).strip().splitlines()
    return "\n".join([f"{name} : {first}", indent("\n".join(rest), "    ")])
