"""What policies ask for is held against the TaskManagers of a run."""

import csv

import pytest

from benchmarks.recorded_autoscalers import VARIABLE, compare, name_policy, read_run, run

COLUMNS = (
    "seconds",
    "datetime",
    "input_rate",
    "throughput",
    "busy_time",
    "CPU_load",
    "backpressure",
    "lag",
    "latency",
    "taskmanager",
)


def write(folder, managers, name="query-1_HPA_50"):
    """A run whose TaskManagers use half of their CPU, and four times as much as DS2 needs."""
    with (folder / f"{name}.csv").open("w", newline="") as stream:
        out = csv.DictWriter(stream, COLUMNS)
        out.writeheader()
        for number, count in enumerate(managers):
            figures = (15 * number, "x", 1000, 1000, 0.25, 0.5, 0, 0, 0.1, count)
            out.writerow(dict(zip(COLUMNS, figures, strict=True)))
    return folder / f"{name}.csv"


def test_a_policy_that_is_on_its_target_asks_for_what_is_there(tmp_path):
    found = compare("hpa:target=0.5", read_run(write(tmp_path, [8] * 40)))
    assert (found.steps, found.near, found.soon, found.stays) == (40, 1.0, 1.0, 1.0)


def test_what_is_asked_for_counts_when_it_is_seen_within_two_minutes(tmp_path):
    # DS2 asks for two of eight after a minute; they are seen after two.
    found = compare("ds2", read_run(write(tmp_path, [8] * 8 + [2] * 32)))
    assert found.near < found.soon
    assert found.soon == 1.0
    assert found.of_changes == 1.0


def test_incomplete_windows_are_left_out(tmp_path):
    file = write(tmp_path, [8, 8, 8])
    file.write_text(file.read_text().replace("30,x,1000", "30,x,"))
    assert [row.at for row in read_run(file)] == [0.0, 15.0]


@pytest.mark.parametrize(
    ("kind", "percent", "policy"),
    [
        ("HPA", "50", "hpa:target=0.5"),
        ("ds2-original-reactive", "00", "ds2"),
        ("ds2-adapted-reactive", "33", "ds2:scaling_factor=0.33"),
    ],
)
def test_settings_are_those_of_the_file_names(kind, percent, policy):
    assert name_policy(kind, percent) == policy


def test_without_runs_the_study_says_so_and_has_no_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (entry,) = run(large=False)
    assert not entry.ratios
    assert VARIABLE in capsys.readouterr().err
    write(tmp_path, [8] * 40)
    (entry,) = run(large=False)
    assert entry.ratios["near: HPA"] == 1.0
