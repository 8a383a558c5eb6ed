"""What can be said of the benchmarks without running them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("benchmarks are not part of a release", allow_module_level=True)


@pytest.fixture(scope="module")
def registry():
    """Return all benchmarks by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        from benchmarks.__main__ import discover
        from benchmarks.harness import REGISTRY

        discover()
        yield dict(REGISTRY)


def test_all_are_described(registry):
    for name, function in registry.items():
        assert function.__doc__, name


def test_thesis_benchmarks_say_what_they_reproduce(registry):
    found = {n: f for n, f in registry.items() if n.startswith("thesis.")}
    assert {name.split(".")[1] for name in found} == {
        "forest",
        "kmedoids",
        "mips",
        "pursuit",
    }
    for name, function in found.items():
        assert function.__doc__.startswith(
            ("Table", "Figure", "Appendix", "Chapter", "Section")
        ), name


def test_thesis_benchmarks_name_their_data(registry, tmp_path, monkeypatch):
    """Without any data, what is missing first must have been declared."""
    from benchmarks import data
    from benchmarks.harness import Options

    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    monkeypatch.setattr(data, "FETCHERS", {})
    for name, function in registry.items():
        if not name.startswith("thesis.") or not function.data:
            continue
        with pytest.raises(data.DataMissing) as missing:
            next(function(Options(rounds=1)))
        assert str(missing.value).partition(":")[0] in function.data, name


def test_quoted_tables_are_complete(registry):
    """Every model of the thesis's tables stands there with and without MABSplit."""
    from benchmarks.thesis import _quoted

    for table in (
        _quoted.TABLE_3_1,
        _quoted.TABLE_3_2,
        _quoted.TABLE_3_3,
        _quoted.TABLE_3_4,
    ):
        for models in table.values():
            plain = {name for name in models if "+" not in name}
            assert set(models) == plain | {f"{name} + MABSplit" for name in plain}


def test_slow_sides_take_part_in_the_first_rounds_only(registry):
    from benchmarks.harness import Comparison, Contender, Options, speed_ups

    seen = []
    race = Comparison(
        title="a",
        contenders={
            "ours": lambda seed: seen.append(("ours", seed)),
            "slow": Contender(lambda seed: seen.append(("slow", seed)), rounds=1),
        },
        rounds=3,
        warm_up=False,
        note="slow once",
    )
    record = race.measure(Options())
    assert seen == [("ours", 0), ("slow", 0), ("ours", 1), ("ours", 2)]
    assert [len(times) for times in record["seconds"].values()] == [3, 1]
    assert list(speed_ups(record)) == ["slow"]
    assert record["note"] == "slow once"
