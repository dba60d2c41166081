"""What a simulation says: its figures are the result's, and no name can break its page."""

import math
import re
from dataclasses import replace

import pytest

from streamgauge.api.loading import load_plan
from streamgauge.drawing.wording import (
    format_duration,
    format_duration_within,
    format_number,
    format_plain_duration,
    format_share,
)
from streamgauge.reports.content import Grade
from streamgauge.reports.simulation import SimulationReport
from streamgauge.simulation.latencies import Latencies
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.workload import Emission, Unlimited, Workload
from tests.cli.conftest import JOB
from tests.reports.pages import Balanced, parsed, table, verdict, words

BEHAVIOURS = """
behaviours:
  work: {service: {wait_ms: {exponential: 10}}, outputs: {default: 1}}
  out: {service: {cpu_ms: 0.1}}
workload: [{source: in, per_second: 100}]
"""
NASTY = "<script>alert('&\"')</script>"
COMMAND = "streamgauge simulate 'a<b>.yaml' --html page.html"


def made(path, text, *, seconds=4.0, warmup=1.0):
    path.write_text(text)
    planned = load_plan(path)
    job = planned.job
    assert job is not None and job.workload is not None
    result = simulate(
        planned.plan, job.behaviours, job.workload, seconds=seconds, warmup=warmup, seed=1
    )
    return SimulationReport(
        job=job, plan=planned.plan, results=(result,), seed=7, seconds=seconds, warmup=warmup
    )


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """What a few simulated seconds of a job found."""
    return made(tmp_path_factory.mktemp("page") / "job.yaml", JOB + BEHAVIOURS)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """The same with a name that is not what it seems."""
    name = NASTY.replace("'", "''")
    text = re.sub(r"\bwork\b", f"'{name}'", JOB + BEHAVIOURS)
    return made(tmp_path_factory.mktemp("nasty") / "job.yaml", text, seconds=1.0)


def changed(report, **changes):
    """The report of a result that differs."""
    return replace(report, results=(replace(report.result, **changes),))


def page_of(report, **changes):
    return changed(report, **changes).to_html(COMMAND)


def test_the_page_is_well_formed_for_html_and_xml(simulated):
    page = page_of(simulated)
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []
    assert parsed(page).get("lang") == "en"


def test_the_page_asks_for_nothing_and_runs_nothing(simulated):
    page = page_of(simulated)
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//|@import|url\((?!#)", page.replace(COMMAND, ""))
    reader = Balanced()
    reader.feed(page)
    assert reader.seen.isdisjoint({"script", "link", "img", "iframe", "object", "base"})
    links = [one.get("href", "") for one in parsed(page).iter("a")]
    anchors = {one.get("id") for one in parsed(page).iter()}
    assert links
    assert {link.removeprefix("#") for link in links} <= anchors


def test_every_picture_and_table_says_what_it_is(simulated):
    tree = parsed(page_of(simulated))
    pictures, tables = list(tree.iter("svg")), list(tree.iter("table"))
    assert len(pictures) == 6
    assert len(tables) >= 5
    assert all(one.find("title") is not None and one.get("aria-label") for one in pictures)
    assert all(one.find("caption") is not None for one in tables)
    assert all(th.get("scope") for one in tables for th in one.iter("th"))
    assert [int(one.tag[1]) for one in tree.iter() if re.fullmatch("h[1-6]", one.tag)][:2] == [1, 2]


def test_the_verdict_has_throughput_latency_and_sample(simulated):
    result = simulated.result
    said = verdict(page_of(simulated))
    mean = result.latency.mean_estimate()
    tail = result.latency.quantile_estimate(0.99)
    assert said.startswith("Fine: the busiest executor, ")
    assert format_share(max(one.utilisation for one in result.executors)) in said
    assert f"{format_number(result.operators['out'].executed_per_second)} tuples/s" in said
    assert format_duration_within(mean.mean, mean.half_width) in said
    assert format_duration_within(tail.mean, tail.half_width) in said
    assert f"{result.latency.count:,} tuples in {format_plain_duration(result.seconds)}" in said


def test_latencies_are_listed_by_what_they_span(simulated):
    result = simulated.result
    rows = table(page_of(simulated), "Latency")
    assert list(rows) == [
        "source to sink",
        "since it was due",
        "complete (acker)",
        "complete (source)",
    ]
    assert rows["source to sink"]["sample"] == f"{result.latency.count:,}"
    tail = result.complete.quantile_estimate(0.99)
    assert rows["complete (acker)"]["p99"] == format_duration_within(tail.mean, tail.half_width)
    assert rows["complete (acker)"]["p50"] == format_duration(result.complete.quantile(0.5))


def test_paths_are_listed_where_a_sink_has_several(simulated):
    way = simulated.result.ways[0]
    other = replace(way, operators=("in", "out"))
    rows = table(page_of(simulated, ways=(way, other)), "Latency")
    assert rows["in → work → out"] | {"from, to": ""} == rows["in → out"] | {"from, to": ""}


def test_terminal_and_page_show_the_same_figures(simulated):
    text = simulated.to_text(100)
    page = page_of(simulated)
    for caption in ("Latency", "Machines"):
        rows = table(page, caption).values()
        assert caption in text
        assert [cell for row in rows for cell in row.values() if cell not in text] == []
    assert "Executors, the busiest first" not in text


def test_the_tables_have_every_operator_executor_worker_and_machine(simulated):
    result = simulated.result
    page = page_of(simulated)
    operators = table(page, "Operators")
    assert list(operators) == list(result.operators)
    assert operators["work"]["served"] == format_number(
        result.operators["work"].executed_per_second
    )
    assert operators["work"]["busiest"] == format_share(result.operators["work"].busiest)
    assert operators["work"]["wait"] == format_duration(result.operators["work"].wait_seconds)
    executors = table(page, "Executors, the busiest first")
    busiest = sorted(result.executors, key=lambda one: -one.utilisation)
    assert list(executors) == [one.name for one in busiest]
    assert list(table(page, "Workers")) == [one.name for one in result.workers]
    machines = table(page, "Machines")
    assert machines[result.machines[0].name]["the job's work"] == format_number(
        result.machines[0].busy
    )


def test_long_tables_say_how_much_they_leave_out(simulated):
    result = simulated.result
    many = tuple(replace(result.executors[0], name=f"e{n}") for n in range(230))
    page = page_of(simulated, executors=many)
    assert len(table(page, "Executors, the busiest first")) == 200
    assert "30 more rows are left out." in page


def test_the_topology_shows_how_busy_operators_are(simulated):
    result = simulated.result
    picture = next(
        one for one in parsed(page_of(simulated)).iter("svg") if "topology" in one.get("aria-label")
    )
    said = [one.text for one in picture.iter("text")]
    assert format_share(result.operators["work"].busiest) in said
    assert f"emits {format_number(result.operators['in'].emitted_per_second)} tuples/s" in said
    assert "__acker" not in said


def test_the_page_says_how_it_was_made(simulated):
    tree = parsed(page_of(simulated))
    assert [one.text for one in tree.iter("code")] == [COMMAND]
    made_by = {words(div[0]): words(div[1]) for dl in tree.iter("dl") for div in dl}
    assert made_by["seed"] == "7"
    assert made_by["simulated"] == "4 s"
    assert made_by["warm-up, left out before"] == "1 s"
    assert made_by["streamgauge"]
    assert "docs/simulator.md" in words(tree)


def test_the_same_arguments_give_the_same_page(simulated):
    assert page_of(simulated) == page_of(simulated)


def test_what_is_no_number_is_a_dash(simulated):
    operators = dict(simulated.result.operators)
    operators["work"] = replace(operators["work"], wait_seconds=math.nan)
    page = page_of(simulated, operators=operators)
    assert table(page, "Operators")["work"]["wait"] == "–"
    assert not re.search(r"\b(nan|inf|None)\b", page.split("</head>")[1])


def test_names_are_text_wherever_they_stand(nasty):
    page = page_of(nasty)
    assert "<script" not in page
    assert words(parsed(page)).count(NASTY) > 5
    assert NASTY in table(page, "Operators")


def test_a_result_without_latencies_says_so(simulated):
    none = Latencies.none()
    operators = {
        name: replace(one, latency=none) for name, one in simulated.result.operators.items()
    }
    page = page_of(
        simulated,
        operators=operators,
        latency=none,
        since_due=none,
        complete=none,
        seen_by_source=none,
        by_source={},
        ways=(),
    )
    assert verdict(page).startswith(
        "Nothing arrived: no tuple reached a sink, so simulate a longer"
    )
    assert "p99 latency since emission–" in verdict(page)
    assert "there is no latency to show" in page


def test_saturation_names_operators_and_by_how_much(simulated):
    operators = dict(simulated.result.operators)
    operators["work"] = replace(
        operators["work"], saturated=True, arrived_per_second=300.0, executed_per_second=100.0
    )
    page = page_of(simulated, operators=operators)
    assert (
        "Overloaded: work receives 300 tuples/s and serves 100 tuples/s (3.00 times as many)"
        in verdict(page)
    )
    assert "There is no steady state" in verdict(page)
    assert table(page, "Operators")["work"]["state"] == "saturated"
    assert [one.text for one in parsed(page).iter("text") if one.get("class") == "alarm-word"]


def test_overload_comes_first_in_the_verdict(simulated):
    page = page_of(simulated, overloaded=True, settled=False)
    said = verdict(page)
    assert said.startswith(
        "Overloaded: queues grew without bound, and the run was stopped after 5 s"
    )
    assert "<title>Overloaded: tiny, simulated</title>" in page


def test_a_longer_run_is_advised_where_it_would_help_and_never_under_overload(simulated):
    advice = "so simulate a longer time"
    unsettled = changed(simulated, settled=False)
    assert str(unsettled.verdict) == (
        f"Not settled: no steady state was found within a warm-up of 1 s, {advice}."
    )
    blocked = dict(simulated.result.operators)
    blocked["in"] = replace(blocked["in"], blocked=0.73, emitted_per_second=27.0)
    for report in (
        changed(simulated, overloaded=True, settled=False),
        changed(simulated, operators=blocked, settled=False),
    ):
        assert report.verdict.grade is Grade.BAD
        assert advice not in str(report.verdict)
        assert "There is no steady state" in report.verdict.cautions[0]


def test_sources_that_cannot_deliver_what_is_asked_are_an_overload(simulated):
    operators = dict(simulated.result.operators)
    operators["in"] = replace(operators["in"], blocked=0.73, emitted_per_second=27.0)
    report = changed(simulated, operators=operators)
    assert report.is_overloaded
    assert str(report.verdict) == (
        "Overloaded: sources emit 27.0 of the 100 tuples/s asked for; in is blocked 73.0 % of the"
        " time."
    )
    assert "27.0 of 100 tuples/s" in [term.value for term in report.headline]
    row = table(report.to_html(), "Sources: asked and delivered")["in"]
    assert (row["asked"], row["delivered"], row["of what was asked"]) == ("100", "27.0", "27.0 %")
    assert "Sources: asked and delivered" in report.to_text()
    assert "Sources: asked and delivered" not in simulated.to_text()


@pytest.mark.parametrize(
    ("warmup", "left_out", "words"),
    [
        (1.0, 1.0, "tiny: 4 s simulated after a warm-up of 1 s"),
        (0.0, 0.0, "tiny: 4 s simulated;"),
        (None, 1.0, "5 s simulated: 4 s, and 1 s in addition for a warm-up, which is left out"),
        (None, 0.4, "and 1 s in addition for a warm-up, 400 ms of which are left out"),
        (None, 0.0, "and 1 s in addition for a warm-up, which was not needed and is measured too"),
    ],
)
def test_the_time_that_was_simulated_is_said_with_its_warm_up(simulated, warmup, left_out, words):
    seconds = 4.0 if warmup is not None else 5.0 - left_out
    report = changed(simulated, warmup=left_out, seconds=seconds)
    assert words in replace(report, warmup=warmup).about


def test_lost_tuples_are_counted_in_the_verdict(simulated):
    operators = dict(simulated.result.operators)
    operators["work"] = replace(operators["work"], dropped_per_second=2.5)
    operators["in"] = replace(
        operators["in"], failed_per_second=4.0, timed_out_per_second=3.0, replayed_per_second=1.0
    )
    page = page_of(simulated, operators=operators)
    assert verdict(page).startswith(
        "Loses tuples: 2.50 tuples/s are dropped because queues are full; "
    )
    assert "4.00 tuple trees/s fail, 3.00 of them by time-out" in verdict(page)
    rare = table(page, "Operators: back-pressure, windows, failures and drops")
    assert rare["in"]["failed"] == "4.00"
    assert rare["work"]["failed"] == "–"


def test_tuples_that_operators_fail_on_purpose_are_only_a_warning(simulated):
    operators = dict(simulated.result.operators)
    operators["in"] = replace(operators["in"], failed_per_second=4.0)
    assert changed(simulated, operators=operators).verdict.grade is Grade.WARNING


def test_a_source_that_cannot_emit_is_held_back(simulated):
    operators = dict(simulated.result.operators)
    operators["in"] = replace(operators["in"], blocked=0.4)
    said = verdict(page_of(simulated, operators=operators))
    assert said.startswith("Held back: in is blocked 40.0 % of the time.")


def test_parts_of_the_time_that_nobody_could_see_are_not_listed(simulated):
    operators = dict(simulated.result.operators)
    operators["work"] = replace(operators["work"], blocked=0.0000677)
    page = page_of(simulated, operators=operators)
    assert "back-pressure, windows, failures and drops" not in page


def test_queues_that_were_too_full_are_listed_and_no_others(simulated):
    result = simulated.result
    assert "No queue was ever full" in page_of(simulated)
    first = result.executors[0]
    full = replace(first, receive=replace(first.receive, blocking=0.5))
    page = page_of(simulated, executors=(full, *result.executors[1:]))
    rows = table(page, "Queues that were full")
    assert list(rows) == [f"{first.name} receives"]
    assert rows[f"{first.name} receives"]["threads waiting"] == "0.500"


def test_the_warm_up_is_shaded_in_every_chart_over_time(simulated):
    def shades(page: str) -> int:
        return len([one for one in parsed(page).iter("rect") if one.get("class") == "warmup"])

    # Each has one in its legend too.
    assert shades(page_of(simulated)) == 8
    assert shades(page_of(simulated, warmup=0.0)) == 0


@pytest.mark.parametrize(("part", "word"), [(0.9, "Nearly full: "), (0.99, "Full: ")])
def test_an_executor_without_room_for_bursts_is_a_warning(simulated, part, word):
    first, *others = simulated.result.executors
    busy = replace(first, utilisation=part)
    said = verdict(page_of(simulated, executors=(busy, *others)))
    assert said.startswith(f"{word}executor {first.name} is busy {format_share(part)} of the time.")


def test_a_job_without_a_rate_of_its_own_runs_flat_out(simulated):
    eager = Workload(emissions=(Emission(source="in", shape=Unlimited()),))
    report = replace(simulated, job=replace(simulated.job, workload=eager))
    assert str(report.verdict).startswith(
        "Flat out: sources emit as much as the job takes, and the busiest executor"
    )


def test_a_stopped_run_says_what_sources_could_not_emit(simulated):
    heavy = Workload(emissions=(Emission(source="in", per_second=1e6),))
    report = changed(
        replace(simulated, job=replace(simulated.job, workload=heavy)), overloaded=True
    )
    assert "of the 1,000,000 tuples/s asked for" in str(report.verdict)


def test_one_overloaded_run_of_several_is_the_verdict(simulated):
    fine = simulated.result
    report = replace(simulated, results=(fine, replace(fine, overloaded=True)))
    assert report.verdict.word == "Overloaded"
    assert report.is_overloaded


def test_means_over_several_runs_stand_in_a_table_of_their_own(simulated):
    report = replace(simulated, results=(simulated.result, simulated.result))
    served = simulated.result.operators["out"].executed_per_second
    rows = table(report.to_html(), "Means over 2 independent runs")
    assert list(rows["out"].values())[1:] == ["p99 latency", rows["out"]["mean ± 95 %"]]
    average = report.document()["estimates"]["out"]["executed_per_second"]
    assert (average["mean"], average["half_width_95"], average["runs"]) == (served, 0.0, 2)
    assert "estimates" not in simulated.document()


def test_the_long_table_has_operators_executors_and_latencies(simulated):
    frame = simulated.to_pandas()
    work = frame[(frame.subject == "operator") & (frame.name == "work")]
    served = work[work.figure == "executed_per_second"]
    assert served.value.item() == simulated.result.operators["work"].executed_per_second
    assert served.unit.item() == "1/s"
    p99 = frame[(frame.name == "source to sink") & (frame.figure == "p99")]
    assert p99.value.item() == simulated.result.latency.quantile(0.99)
    assert set(frame.subject) == {"latency", "operator", "executor", "worker", "machine"}


def test_a_terminal_has_the_distribution_in_characters(simulated):
    rows = [line for line in simulated.to_text().splitlines() if "█" in line]
    counts = [int(row.split()[-1].replace(",", "")) for row in rows]
    # From the first half per cent to the last.
    assert 0.98 * simulated.result.latency.count < sum(counts) < simulated.result.latency.count
    assert len(max(rows, key=lambda row: row.count("█"))) <= 100


def test_a_notebook_shows_tables_and_the_first_picture_is_the_latency(simulated):
    fragment = simulated._repr_html_()
    assert "Operators" in fragment
    assert "█" not in fragment
    assert "How many tuples took how long" in simulated.plot().svg
