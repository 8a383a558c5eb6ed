"""Tables of stored results in another shape: several in one, columns as rows."""

from result_formats import title_of


def joined(records):
    """Join tables that have the same columns and a common end of their titles.

    Parameters
    ----------
    records : list of dict
        Records of one benchmark. Titles such as "MNIST, cosine: 2,000 queries" say
        which data a table is about before the colon, and what is common after it.

    Returns
    -------
    list of dict
        A record for each kind of table, whose first column says which data. It is as
        disturbed as the most disturbed of its parts. Races stay as they are.
    """
    found = {}
    for place, record in enumerate(records):
        data, _, common = title_of(record).rpartition(": ")
        if "columns" not in record or not data:
            found[place] = [(data, record)]
        else:
            found.setdefault((common, *record["columns"]), []).append((data, record))
    return [_join(key, parts) for key, parts in found.items()]


def _join(key, parts):
    """Return one record for several."""
    (_, first), *others = parts
    if not others:
        return first
    disturbed = max(
        (record["measured"] for _, record in parts),
        key=lambda measured: measured.get("other_load") or 0,
    )
    return first | {
        "title": key[0],
        "columns": ["data", *first["columns"]],
        "rows": [[data, *row] for data, record in parts for row in record["rows"]],
        "measured": disturbed,
    }


def transposed(record):
    """Exchange rows and columns of a table that is wider than a page."""
    columns, *rows = zip(record["columns"], *record["rows"], strict=True)
    return record | {"columns": list(columns), "rows": [list(row) for row in rows]}
