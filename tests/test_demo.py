"""The table of the demo, of a race that takes no time."""

from sklearn_bandit import demo


def test_the_table_names_both_sides(capsys, monkeypatch):
    calls = []

    def make_race(n_threads):
        assert n_threads >= 1
        return demo.Race(
            task="a task",
            against="a rival",
            ours=lambda: calls.append("ours") or 0.5,
            theirs=lambda: calls.append("theirs") or 0.25,
            quality=lambda result: result,
            sampled=lambda result: result / 10,
        )

    monkeypatch.setattr(demo, "RACES", [make_race])
    demo.main()
    # In turn, after a warm-up of each.
    assert calls == ["theirs", "ours"] * (demo.N_RUNS + 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split("  ")[0] == "task"
    row = [cell.strip() for cell in lines[4].split("  ") if cell.strip()]
    assert row[:4] == ["a task", "a rival", "0.2500", "0.5000"]
    assert row[-1] == "5.0%"


def test_the_engine_alone():
    """The cheapest real race: its two sides find the same point."""
    race = demo.medoid(1)
    ours, theirs = race.ours(), race.theirs()
    assert race.quality(ours) == race.quality(theirs)
    assert 0 < race.sampled(ours) < 0.5
