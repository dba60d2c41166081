"""Pictures and page of a prediction: its figures, what changed, and nobody's names can break it."""

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from streamgauge.drawing.wording import format_change, format_duration, format_limit, format_number
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.prediction import (
    Limit,
    Swing,
)
from streamgauge.reports.latency import chart_latencies
from streamgauge.reports.prediction import PredictedPlan, PredictionReport, chart_plans
from streamgauge.reports.prediction_verdict import find_bottleneck, judge_prediction
from streamgauge.topology.workload import Emission, Unlimited, Workload
from tests.reports.pages import Balanced, parsed, table, verdict, words
from tests.reports.predicted_plans import (
    COMMAND,
    EXPLAINED,
    LATENCY,
    NASTY,
    page_of,
    seen,
)

SVG = "{http://www.w3.org/2000/svg}"


def plans_picture(before: PredictedPlan | None, after: PredictedPlan) -> str:
    return chart_plans(before, after).svg()


def texts(picture: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def of_class(picture: str, name: str) -> list[ElementTree.Element]:
    drawn = ElementTree.fromstring(picture)
    return [one for one in drawn.iter() if name in one.get("class", "").split()]


def test_one_plan_is_one_picture_without_changes(after):
    picture = plans_picture(None, after)
    assert [one.text for one in of_class(picture, "title")] == ["4 at work"]
    assert not [line for line in texts(picture) if "→" in line]


def test_the_caption_says_plan_executors_workers_nodes_rate_and_verdict(before, after):
    said = " ".join(texts(plans_picture(before, after)))
    for one, count in ((before, 8), (after, 10)):
        assert one.name in said
        assert f"tiny: {count} executors in 2 workers on 2 nodes, 80.0 tuples/s" in said
        assert str(judge_prediction(one.prediction)) in said


def test_operators_say_how_busy_they_are_and_what_changed(before, after):
    said = texts(plans_picture(before, after))
    assert {"2 executors · 8 tasks", "busy 71.0 %", "busiest 82.0 %"} <= set(said)
    assert {"2 → 4 executors · 8 tasks", "busy 71.0 % → 35.5 %", "busiest 41.0 %"} <= set(said)
    # Neither the rate nor the delay changed.
    assert said.count("emits 80.0 tuples/s") == 2
    assert said.count("delay 20.0 ms") == 4
    assert not [line for line in said if line == "__acker"]


def test_the_colour_of_an_operator_is_that_of_its_busiest_executor(before, after):
    tints = [
        one
        for one in of_class(plans_picture(before, after), "faint")
        if float(one.get("width")) > 50
    ]
    grades = [one.get("class").split()[0].removeprefix("gauge-") for one in tints]
    assert grades == ["low", "middle", "low", "low", "low", "low"]


def test_the_bottleneck_is_marked_by_words_and_by_form(before):
    picture = plans_picture(None, before)
    assert texts(picture).count("bottleneck: full first") == 1
    # One is the operator's, the other the legend's.
    assert len(of_class(picture, "mark")) == 2
    assert f"Bottleneck: {before.prediction.limit.by}" in texts(picture)


def test_a_machine_or_an_acker_is_named_where_it_is_the_bottleneck(after):
    def flags(by: str) -> list[str]:
        limited = replace(after.prediction, limit=Limit(factor=1.2, per_second=96.0, by=by))
        picture = plans_picture(None, replace(after, prediction=limited))
        assert "bottleneck: full first" not in texts(picture)
        return [one.text or "" for one in of_class(picture, "mark-label")]

    machine = after.prediction.machines[0].name
    acker = next(one.name for one in after.prediction.executors if one.operator == "__acker")
    assert flags(machine) == [f"Bottleneck: machine {machine}"]
    assert flags(acker) == [f"Bottleneck: {acker}"]


def test_without_a_limit_there_is_no_bottleneck(after):
    none = replace(
        after.prediction, limit=Limit(factor=math.inf, per_second=math.inf, by="nothing")
    )
    picture = plans_picture(None, replace(after, prediction=none))
    assert not of_class(picture, "mark")
    assert not of_class(picture, "mark-label")


def test_where_nobody_looked_for_the_limit_the_worst_is_the_bottleneck(after, rushed):
    unknown = Limit(factor=math.nan, per_second=math.nan, by="")
    assert find_bottleneck(replace(after.prediction, limit=unknown)) == ""
    worst = next(iter(rushed.prediction.overloaded))
    assert find_bottleneck(replace(rushed.prediction, limit=unknown)) == worst
    assert format_limit(unknown.per_second) == "not known"


def test_overloaded_operators_are_alarmed_with_how_many(rushed):
    picture = plans_picture(None, rushed)
    assert [one.text for one in of_class(picture, "alarm-word")] == ["overloaded: 2 of 4"]
    assert "busiest 125.0 %" in texts(picture)


def test_an_overloaded_machine_alarms_who_runs_there(after):
    executors = tuple(
        replace(one, utilisation=math.inf) if one.operator == "out" else one
        for one in after.prediction.executors
    )
    operators = dict(after.prediction.operators)
    operators["out"] = replace(operators["out"], busiest=math.inf, delay_seconds=math.inf)
    machine = after.prediction.machines[0].name
    found = replace(
        after.prediction, executors=executors, operators=operators, overloaded={machine: 1.5}
    )
    picture = plans_picture(None, replace(after, prediction=found))
    [alarm] = of_class(picture, "alarm-word")
    assert alarm.text == "on an overloaded machine: 2 of 2"
    assert {"busiest over 100 %", "delay infinite"} <= set(texts(picture))
    assert "inf" not in re.sub("infinite|info", "", picture)


def test_executors_that_get_nothing_are_counted():
    idle = seen(4, [0.5, 0.0, 0.0, 0.0])
    assert "3 of 4 get nothing" in texts(plans_picture(None, idle))
    assert "3 of 4 executors of work would get no tuples." in verdict(page_of(None, idle))
    assert table(page_of(None, idle), "Operators")["work"]["executors"] == "4 (3 idle)"


def test_a_source_without_a_rate_of_its_own_emits_what_it_can(after):
    eager = Workload(emissions=(Emission(source="in", shape=Unlimited()),))
    picture = plans_picture(None, replace(after, workload=eager))
    assert "emits unlimited tuples/s" in texts(picture)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (100.0, 200.0, "100 → 200"),
        (100.0, 100.5, "100"),
        (math.nan, 3.0, "3.00"),
        (math.inf, 3.0, "– → 3.00"),
        (math.inf, math.inf, "–"),
    ],
)
def test_only_what_changed_is_said_to_have_changed(before, after, told):
    assert format_change(before, after, format_number) == told


def test_the_page_is_well_formed_and_asks_for_nothing(before, after):
    page = page_of(before, after, replace(after.prediction, model="simulation"))
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []
    assert reader.seen.isdisjoint({"script", "link", "img", "iframe", "object", "base"})
    assert not re.search(r"https?:|//|@import|url\((?!#)", page.replace(COMMAND, ""))
    tree = parsed(page)
    anchors = [one.get("id") for one in tree.iter() if one.get("id")]
    assert len(anchors) == len(set(anchors))
    links = [one.get("href", "").removeprefix("#") for one in tree.iter("a")]
    assert links
    assert set(links) <= set(anchors)
    assert all(one.find("caption") is not None for one in tree.iter("table"))
    assert [one.get("aria-label") for one in tree.iter("svg")] == [
        "operators of tiny and how busy they are: 2 at work and 4 at work",
        "Mean latency and what it is made up of",
        "Percentiles of latency",
    ]


def test_the_verdict_comes_first_with_what_changed(before, after):
    page = page_of(before, after)
    said = verdict(page)
    assert said.startswith(str(judge_prediction(after.prediction)))
    assert "<title>Fits: tiny, predicted</title>" in page
    assert page.index('class="verdict fine"') < page.index("<svg")
    figures = {words(div[0]): words(div[1]) for dl in parsed(page).iter("dl") for div in dl}
    assert list(figures)[:4] == [
        "p99 latency since emission",
        "headroom",
        "median",
        "busiest executor",
    ]
    assert figures["p99 latency since emission"] == "9.00 ms"
    assert figures["headroom"] == "1.22 → 2.44 times the load"
    assert figures["median"] == "3.00 ms"
    assert figures["busiest executor"] == "82.0 % → 41.0 %"


@pytest.mark.parametrize(("part", "grade"), [(0.5, "fine"), (0.95, "warning"), (1.2, "bad")])
def test_the_verdict_is_graded(part, grade):
    assert f'class="verdict {grade}"' in page_of(None, seen(1, [part]))


def test_overload_has_no_end_and_no_pictures_of_latency(before, rushed):
    page = page_of(None, rushed)
    assert verdict(page).startswith("Overloaded: ")
    assert "there is nothing to draw" in page
    row = table(page, "Latency")["source to sink"]
    assert row["mean"] == "infinite"
    assert not re.search(r"\b(nan|inf|None)\b", page.split("</head>")[1])
    compared = page_of(before, rushed)
    assert "9.00 ms → infinite" in compared
    infinite = [one for one in parsed(compared).iter("text") if one.text == "infinite"]
    # Of the mean and of four percentiles.
    assert len(infinite) == 5


def test_latency_is_listed_by_source_and_of_whole_trees(after):
    trees = replace(LATENCY, mean=0.005, parts={}, halfwidth=0.0001)
    found = replace(
        after.prediction,
        by_source={"in": LATENCY, "other": replace(LATENCY, mean=0.1)},
        complete=trees,
        seen_by_source=replace(trees, mean=0.006),
    )
    page = page_of(None, replace(after, prediction=found))
    rows = table(page, "Latency")
    assert rows["from other"]["mean"] == "100 ms"
    assert rows["from in"]["p95"] == format_duration(0.007)
    assert rows["complete (engine)"]["mean"] == "5.00 ± 0.10 ms"
    assert rows["complete (source)"]["mean"] == "6.00 ± 0.10 ms"
    parts = table(page, "What mean latency is made up of")
    assert parts["from in"] == {
        "latency": "from in",
        "queueing": "1.00 ms (25.0 %)",
        "service": "3.00 ms (75.0 %)",
    }
    assert "complete (engine)" not in parts


def test_bars_show_what_latency_is_made_up_of(before, after):
    page = parsed(page_of(before, after))
    chart = next(one for one in page.iter("svg") if one.get("aria-label").startswith("Mean"))
    titles = [one.findtext("title") for one in chart.iter("g")]
    assert titles == [
        f"{plan}: {part}"
        for plan in ("before", "after")
        for part in ("queueing 1.00 ms (25.0 %)", "service 3.00 ms (75.0 %)")
    ]


def test_latencies_that_nobody_has_are_said_to_be_missing():
    none = Latency(mean=math.nan, variance=math.nan, quantiles={}, parts={})
    [text] = chart_latencies({"all": none})
    assert text.sentences == ["No tuple reaches a sink: there is no latency."]


def test_more_latencies_than_can_be_drawn_are_counted():
    _, text = chart_latencies({f"source-{n}": LATENCY for n in range(15)})
    assert text.sentences == ["3 more are not drawn; the tables list them."]


def test_the_tables_have_every_operator_executor_worker_and_machine(before, after):
    page = page_of(before, after)
    found = after.prediction
    operators = table(page, "Operators")
    assert set(operators) == set(found.operators)
    assert operators["work"]["executors"] == "2 → 4"
    assert operators["work"]["busiest"] == "82.0 % → 41.0 %"
    assert operators["in"]["in"] == "–"
    # Thirty tuples at full load, without acks: 0.82 + 0.6 executors before, twice 0.41 + 0.3 after.
    assert operators["work"]["out"] == "42.6"
    executors = table(page, "Executors, the busiest first")
    busiest = sorted(found.executors, key=lambda one: -one.utilisation)
    assert list(executors) == [one.name for one in busiest]
    assert executors[busiest[0].name]["in"] == "41.0"
    assert [row["CPU"] for row in table(page, "Workers").values()] == ["1.25", "1.25"]
    machine = table(page, "Machines")[found.machines[0].name]
    # Half a core of others, one of work and half of one of idle threads, of four.
    assert machine["in use"] == "50.0 %"
    delays = table(page, "What mean delays at operators are made up of")
    assert delays["work"]["queueing"] == "5.00 ms (25.0 %)"
    assert "in" not in delays


def test_long_tables_say_how_much_they_leave_out(after):
    first = after.prediction.executors[0]
    many = tuple(replace(first, name=f"e{n}") for n in range(230))
    found = replace(after.prediction, executors=many)
    page = page_of(None, replace(after, prediction=found))
    assert len(table(page, "Executors, the busiest first")) == 200
    assert "30 more rows are left out." in page


def test_every_model_has_a_row_and_dissent_is_said(after, rushed):
    other = replace(rushed.prediction, model="simulation", notes=("600 s",), complete=LATENCY)
    page = page_of(None, after, other)
    rows = table(page, "Models")
    assert list(rows) == ["analytic", "simulation"]
    assert rows["analytic"]["verdict"] == "Fits"
    assert rows["simulation"]["verdict"] == "Overloaded"
    assert rows["simulation"]["then full"] == rushed.prediction.limit.by
    assert rows["simulation"]["complete"] == "4.00 ms"
    assert rows["analytic"]["complete"] == "–"
    assert "Not all models agree: simulation would not say so." in verdict(page)
    assert "simulation: 600 s" in words(parsed(page))
    assert 'id="models"' not in page_of(None, after)


def test_a_swing_is_said_with_the_verdict(after):
    found = replace(after.prediction, swing=Swing(lowest=0.01, highest=0.2, period=3.0))
    said = verdict(page_of(None, replace(after, prediction=found)))
    assert "swings between 10.0 ms and 200 ms, once in 3.00 s." in said


def test_terminal_and_page_have_the_same_figures(after):
    found = replace(after.prediction, explanation=EXPLAINED, complete=LATENCY)
    report = PredictionReport(predicted=replace(after, prediction=found))
    text = report.to_text(200)
    for caption in ("Latency", "What is full first as all rates grow", "Operators", "Machines"):
        assert caption in text
        for name in table(report.to_html(), caption):
            assert name in text
    assert "queueing 25.0 %" in text
    assert "Executors, the busiest first" not in text


def test_a_bottleneck_with_much_room_is_not_marked(after):
    idle = replace(after.prediction, limit=Limit(factor=900.0, per_second=72e3, by="work[3-4]"))
    picture = plans_picture(None, replace(after, prediction=idle))
    assert not of_class(picture, "mark")
    assert not of_class(picture, "mark-label")


def test_the_long_table_has_latencies_operators_and_executors(after):
    frame = PredictionReport(predicted=after).to_pandas()
    latency = frame[(frame.subject == "latency") & (frame.figure == "p99")]
    assert latency.value.tolist() == [0.009]
    busy = frame[(frame.subject == "operator") & (frame.figure == "busiest")]
    assert dict(zip(busy.name, busy.value, strict=True))["work"] == 0.41
    assert set(frame.unit) == {"", "s", "1/s", "cores"}


def test_the_page_says_how_it_was_made(before, after):
    tree = parsed(page_of(before, after))
    assert [one.text for one in tree.iter("code")] == [COMMAND]
    made_by = {words(div[0]): words(div[1]) for dl in tree.iter("dl") for div in dl}
    assert made_by["plan before"] == "2 at work"
    assert made_by["load"] == "80.0 tuples/s, as measured"
    assert made_by["model"] == "analytic"
    assert made_by["profile, plan id"] == "abc123"
    assert made_by["streamgauge"]
    assert "taken as it is" in words(tree)


def test_the_same_arguments_give_the_same_page_and_picture(before, after):
    assert page_of(before, after) == page_of(before, after)
    assert plans_picture(before, after) == plans_picture(before, after)


def test_names_are_text_wherever_they_stand():
    one = replace(seen(2, [0.5], operator=NASTY), name="\x1b[31m" + NASTY)
    found = replace(one.prediction, model=f"\x1b{NASTY}", notes=(NASTY,), provenance={NASTY: NASTY})
    one = replace(one, prediction=found, load=NASTY)
    page = page_of(one, one, replace(found, model=f"{NASTY} too"))
    assert "<script" not in page
    assert "\x1b" not in page
    assert words(parsed(page)).count(NASTY) > 10
    assert NASTY in table(page, "Operators")
    assert "<script" not in plans_picture(one, one)


def test_a_graph_that_is_too_large_to_draw_is_listed_only(after, monkeypatch):
    monkeypatch.setattr("streamgauge.reports.prediction.MANY_OPERATORS", 2)
    assert "3 operators are too many to draw" in page_of(None, after)
