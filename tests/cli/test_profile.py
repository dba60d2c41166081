"""``streamgauge profile show``: tables for people, one document for programs."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from streamgauge.drawing.wording import format_period
from streamgauge.profile.figures import Figure, InputFigures, TaskId, TaskProfile
from streamgauge.profile.files.jobs import parse_profile, profile_to_data, save
from streamgauge.profile.profile import Profile
from streamgauge.profile.quality import assess_profile
from streamgauge.reports.profile import ProfileReport
from streamgauge.reports.profile_tables import shorten_number, show_figure
from streamgauge.topology import Configuration
from tests.profile.measured import SENTENCES, figure, times, topology, word_count
from tests.strategies import profiles


@pytest.fixture
def saved(tmp_path):
    def write(profile: Profile):
        path = tmp_path / "profile.json"
        save(profile_to_data(profile), path)
        return path

    return write


def row(text: str, name: str, title: str) -> str:
    """The row of that name in the table of that title, with single blanks."""
    lines = text[text.index(f"\n{title}") :].splitlines()[4:]
    return " ".join(next(line for line in lines if line.strip().startswith(name)).split())


def test_the_head_says_what_was_measured_and_when(run, saved):
    shown = run("profile", "show", saved(word_count()))
    assert shown.code == 0
    assert shown.err == ""
    head = " ".join(shown.out.split())
    assert head.startswith("word-count on storm-2, plan a41f, 2026-01-01T00:00:00Z to ")
    assert "(30 min); 10 executors in 2 workers; 100 replicas from 60 blocks of 30 s" in head
    assert "juice (part of the sources' input that was processed) 0.8750 ± 0.0088" in head
    assert "back-pressure in 2.5 minutes" in head


def test_operators_have_the_rates_of_all_their_tasks(run, saved):
    out = run("profile", "show", saved(word_count())).out
    # 4 × 500/s in, 4 × 3,800/s out; capacities 0.22 to 0.25; dispersion 1.1; 2 % of the time.
    assert row(out, "splitter", "Operators") == "splitter 4 2,000 15,200 23.5 % 25.0 % 1.10 2.0 %"


def test_service_times_have_errors_and_sample_sizes(run, saved):
    out = run("profile", "show", saved(word_count())).out
    # The mean of 0.40 to 0.43; four errors of 1 % pooled; 99th percentile of the slowest.
    assert row(out, "splitter ←", "Service times").endswith(
        "sentences 0.4150 ± 0.0021 0.801 1.98 0.3000 ± 0.0015 240,000 180"
    )
    assert "report, a window" in out


def test_streams_have_coefficients_sizes_and_shares(run, saved):
    out = run("profile", "show", saved(word_count())).out
    assert row(out, "splitter/words", "Streams").endswith(
        "→ counter fields(word) 15,200 7.600 ± 0.038 18.0 20–50 %"
    )


def test_the_longest_queue_comes_first(run, saved):
    out = run("profile", "show", saved(word_count())).out
    queues = out[out.index("Receive queues") :].splitlines()
    first = next(index for index, line in enumerate(queues) if "──" in line) + 1
    assert queues[first].split()[0] == "report[10]"


def test_cores_in_use_stand_beside_those_there_are(run, saved):
    out = run("profile", "show", saved(word_count())).out
    assert row(out, "machine", "Cores in use").startswith("machine host-7 3.500 ± 0.035 4 10")
    assert row(out, "node-1 →", "Latency between nodes").endswith("0.2100 ± 0.0021 0.147 0.966 900")


def test_everything_fits_a_hundred_columns(run, saved):
    for splitters in (4, 40):
        out = run("profile", "show", saved(word_count(splitters))).out
        assert max(len(line.rstrip()) for line in out.splitlines()) <= 100


def test_a_good_profile_says_so(run, saved):
    out = run("profile", "show", saved(word_count())).out
    assert "Well measured: 27 of 27 figures. Thin: none. Missing: none." in out
    assert "Thin or missing figures" not in out
    assert "the first 2 minutes were left out as warm-up" in out


def test_what_is_thin_or_missing_says_why_and_what_to_do(run, saved):
    task = TaskProfile(inputs={SENTENCES: InputFigures(wall=times(0.4, None, samples=50))})
    profile = Profile(
        topology=topology(),
        configuration=Configuration(executors={"splitter": 4}),
        tasks={TaskId("splitter", 1): task},
    )
    out = " ".join(run("profile", "show", saved(profile)).out.split())
    why = {
        (one.what, one.operator): f"{one.why} → {one.remedy}"
        for one in ProfileReport(profile=profile).assessments
    }
    assert why["service time", "splitter"] == "50 observations, under 100 → measure for longer"
    assert why["tasks", "splitter"].startswith("no metrics from these of its 4 tasks: 0, 2, 3 →")
    assert "Thin: 1." in out
    assert "50 observations, under 100" in out
    assert "period not known" in out
    assert "no replicas" in out


def test_one_operator_is_shown_task_by_task(run, saved):
    out = run("profile", "show", saved(word_count()), "--operator", "counter").out
    assert "counter: 3 of 3 tasks seen" in out
    assert row(out, "0", "counter:").startswith("0 7,600 ")
    assert "sentences" not in out[out.index("Well measured figures") :]


def test_an_operator_of_many_tasks_is_summarised(run, saved):
    out = run("profile", "show", saved(word_count(50)), "--operator", "splitter").out
    assert "50 of 50 tasks seen; the ones with the most tuples first" in out
    # Service times go from 0.40 in steps of 0.01 to 0.89.
    assert "service, ms: 0.400 to 0.890, median 0.645" in out
    assert "1.10 over 10 s, 1.40 over 60 s" in out
    # Of tasks and of queues.
    assert out.count("… 10 more; --json lists them all") == 2


def test_a_long_list_of_executors_is_cut(run, saved):
    out = run("profile", "show", saved(word_count(40))).out
    # Ten executors of word count, and thirty-six splitters more.
    assert "… 6 more; --json lists them all" in out


def test_json_is_the_document_and_its_quality(run, saved):
    profile = word_count(links=())
    document = json.loads(run("profile", "show", saved(profile), "--json").out)
    assert document["schema_version"] == 1
    assert parse_profile(json.dumps(document["profile"])) == profile
    assert document["quality"] == [one.to_dict() for one in assess_profile(profile)]
    assert [one["what"] for one in document["quality"] if one["verdict"] == "missing"] == [
        "latency"
    ]


def test_json_of_one_operator_leaves_the_others_out(run, saved):
    shown = run("profile", "show", saved(word_count()), "--operator", "counter", "--json")
    document = json.loads(shown.out)
    assert list(document["profile"]["profile"]["operators"]) == ["counter"]
    assert {one["operator"] for one in document["quality"]} == {"counter"}


def test_an_unknown_operator_is_refused_with_a_guess(run, saved):
    outcome = run("profile", "show", saved(word_count()), "--operator", "conter")
    assert outcome.code == 2
    assert "did you mean 'counter'?" in outcome.err
    assert "profile.json" in outcome.err


def test_a_wrong_profile_is_refused_with_file_and_line(run, saved):
    path = saved(word_count())
    lines = path.read_text().splitlines()
    line = next(index for index, text in enumerate(lines) if '"backpressure_minutes"' in text)
    lines[line] = '"backpressure_minutes": -1,'
    path.write_text("\n".join(lines))
    outcome = run("profile", "show", path, "--json")
    assert outcome.code == 2
    assert f"profile.json:{line + 1}: profile.backpressure_minutes: -1" in outcome.err
    assert json.loads(outcome.out)["error"]["code"] == "invalid-input"


def test_a_job_without_figures_is_no_profile(run, job):
    outcome = run("profile", "show", job)
    assert outcome.code == 2
    assert "no section 'profile'" in outcome.err


def test_ackers_can_be_looked_at_where_they_were_measured(run, saved):
    acked = replace(topology(), acked=True)
    seen = TaskProfile(
        inputs={SENTENCES._replace(name="__ack_init"): InputFigures(per_second=figure(2000.0))}
    )
    profile = Profile(
        topology=acked, configuration=Configuration(), tasks={TaskId("__acker", 0): seen}
    )
    path = saved(profile)
    assert "__acker: 1 of 1 tasks seen" in run("profile", "show", path, "--operator", "__acker").out
    assert row(run("profile", "show", path).out, "__acker", "Operators") == "__acker 1 2,000"


@given(profiles())
@settings(max_examples=25)
def test_any_profile_can_be_shown(profile: Profile):
    """Even one whose names and numbers are odd, and most of which is missing."""
    for operator in (None, *profile.topology.operator_names):
        report = ProfileReport(profile=profile, operator=operator)
        assert report.to_text()
        assert report.to_html()
        assert all(row.figure for row in report.figures())


def test_no_number_is_longer_than_a_dozen_characters():
    assert all(len(shorten_number(10.0**power)) <= 12 for power in range(-9, 300, 3))


@pytest.mark.parametrize(
    ("error", "shown"), [(None, "5.00"), (1e-6, "5.00"), (0.25, "5.00 ± 0.25")]
)
def test_an_error_too_small_to_matter_is_not_shown(error, shown):
    assert show_figure(Figure(value=5.0, standard_error=error)) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(440.0, "7 min 20 s"), (7200.0, "2 h"), (0.0, "0 s"), (3700, "1 h 1 min 40 s")],
)
def test_a_period_is_said_in_hours_minutes_and_seconds(seconds, shown):
    assert format_period(seconds) == shown


def test_times_that_do_not_vary_are_well_measured_whatever_their_error():
    wall = times(0.4, scv=None)
    constant = replace(wall, scv=Figure(value=1e-6, samples=500, buckets=40, standard_error=3e-6))
    task = TaskProfile(inputs={SENTENCES: InputFigures(wall=constant)})
    profile = Profile(
        topology=topology(),
        configuration=Configuration(executors={"splitter": 1}),
        tasks={TaskId("splitter", 0): task},
    )
    [found] = [
        one
        for one in assess_profile(profile)
        if one.what == "variability of service" and one.operator == "splitter"
    ]
    assert found.verdict == "good"


def test_the_long_table_has_every_figure(saved):
    frame = ProfileReport(profile=word_count()).to_pandas()
    assert set(frame.subject) >= {"task", "executor", "worker", "machine", "link"}
    wall = frame[(frame.name == "splitter[0]") & frame.figure.str.endswith("wall mean_ms")]
    assert wall.value.tolist() == [0.4]
    assert wall.unit.tolist() == ["ms"]
