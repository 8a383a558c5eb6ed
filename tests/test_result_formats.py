"""How the documentation writes stored results."""

import pytest


@pytest.fixture(scope="module")
def formats(import_extension):
    return import_extension("result_formats")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (12.34, "12.3 s"),
        (0.9996, "1 s"),  # not 1e+03 ms
        (0.9994, "999 ms"),
        (4.2e-5, "42 µs"),
        (1234.4, "1,230 s"),
    ],
)
def test_durations(formats, seconds, text):
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.5], "0.5"),
        ([0.96774, 0.96786, 0.96759], "0.9677 ± 0.0001"),
        ([53.0, 40.0, 28.0], "40 ± 10"),  # not 1e+01
        ([7.387, 7.387, 7.3871], "7.387"),
        ([None, None], "–"),
        ([123456.0, 123456.0], "123,456"),
    ],
)
def test_scores(formats, values, text):
    assert formats.score(values) == text


def test_data_sets_are_called_as_a_reader_calls_them(formats):
    title = "flights2001_3m (2,400,000 x 8), covtypes; never: LightGBM"
    assert formats.title_of({"title": title}) == "Flights (2,400,000 × 8), covtypes"


def test_goals_are_left_out(formats):
    note = "one thread. Goal: at most 1.5x. A pass evicts what is needed"
    written = formats.note_of({"note": note})
    assert written == "One thread. A pass evicts what is needed."
    assert formats.note_of({"note": "Goals: 3 times; 5 MB."}) == ""
    assert formats.note_of({}) == ""


def test_cells_have_three_digits(formats):
    cells = [0.852902, 0.0158817, 1.0, 12345, 12345.6, 2.3e-7, None, True]
    texts = ["0.853", "0.0159", "1", "12,345", "12,346", "2.3e-7", "–", "yes"]
    assert [formats.digits(cell) for cell in cells] == texts


def test_cells_break_where_they_may(formats):
    assert formats.digits("0.763 ± 0.008") == "0.763\xa0±\xa00.008"
    assert formats.digits("1,000: 1.02e+05, 3E-07") == "1,000: 1.02e5, 3e-7"
    assert formats.digits("NORMAL_CUSTOM") == "NORMAL_\u200bCUSTOM"


def test_speed_ups_are_of_rounds(formats):
    record = {"seconds": {"sklearn-bandit": [1.0, 2.0], "numpy": [3.0, 10.0]}}
    (speed,) = formats.speed_ups(record).values()
    assert (speed.middle, speed.least, speed.most) == (4.0, 3.0, 5.0)
    assert (str(speed), speed.range) == ("4×", "3 to 5")


def test_slow_sides_take_part_in_the_first_rounds_only(formats):
    record = {
        "seconds": {"sklearn-bandit": [1.0, 2.0], "numpy": [3.0]},
        "seeds": [0, 1],
        "measured": {
            "processor": "a",
            "cores": 2,
            "threads": 2,
            "packages": {"numpy": "2"},
            "date": "2026-01-02",
        },
    }
    (speed,) = formats.speed_ups(record).values()
    assert (speed.middle, speed.range) == (3.0, "")
    text, _ = formats.origin("some.benchmark", record)
    assert "2 rounds, seeds 0 to 1 · numpy: 1 of them" in text
