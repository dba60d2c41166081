"""Pictures and page of a prediction: its figures, what changed, and nobody's names can break it."""

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from streamgauge.drawing.wording import format_change, format_duration, format_limit, format_number
from streamgauge.models.delays import Part
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.pending_limit import HeldSource, Pending
from streamgauge.models.prediction import (
    Bottleneck,
    ExecutorPrediction,
    Explanation,
    Limit,
    MachinePrediction,
    OperatorPrediction,
    Prediction,
    Sensitivity,
    Swing,
    Verdict,
    WorkerPrediction,
)
from streamgauge.reports.latency import chart_latencies
from streamgauge.reports.prediction import PredictedPlan, PredictionReport, chart_plans
from streamgauge.reports.prediction_verdict import find_bottleneck, judge_prediction
from streamgauge.topology import Cluster, Configuration, Operator, Stream, Topology
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.workload import Emission, Unlimited, Workload
from tests.reports.pages import Balanced, parsed, table, verdict, words

COMMAND = "streamgauge predict --profile 'a<b>.json' --html page.html"
NASTY = "<script>alert('&\"')</script>"
SVG = "{http://www.w3.org/2000/svg}"
LATENCY = Latency(
    mean=0.004,
    variance=1e-6,
    quantiles={0.5: 0.003, 0.9: 0.006, 0.95: 0.007, 0.99: 0.009},
    parts={Part.QUEUEING: 0.001, Part.SERVICE: 0.003, Part.WINDOW: 0.0},
)
UNBOUNDED = Latency(mean=math.inf, variance=math.inf, quantiles={}, parts={Part.QUEUEING: math.inf})


def plan_of(executors: dict[str, int], name: str = "work") -> PhysicalPlan:
    """A source, a worker and a sink on two nodes, with ackers."""
    topology = Topology(
        name="tiny",
        operators=(
            Operator(name="in", kind=OperatorKind.SOURCE, tasks=2),
            Operator(name=name, tasks=8),
            Operator(name="out", tasks=2),
        ),
        streams=(
            Stream(source="in", target=name, grouping=Shuffle()),
            Stream(source=name, target="out", grouping=Shuffle()),
        ),
        acked=True,
    )
    wanted = Configuration(executors=executors, workers=2, ackers=2)
    logical = LogicalPlan.of(topology, wanted)
    cluster = Cluster.uniform(nodes=2, cores=4)
    dealt = [index % 2 for index in range(len(logical.executors))]
    return PhysicalPlan.from_slots(logical, cluster, cluster.slots, dealt)


def predicted(plan: PhysicalPlan, busy: dict[str, list[float]], **changes) -> Prediction:
    """A prediction with these utilisations; whoever is not busy gets nothing."""
    executors = []
    for index, one in enumerate(plan.logical.executors):
        of = busy.get(one.operator, [0.1])
        part = of[plan.logical.executors_of(one.operator).index(one) % len(of)]
        executors.append(
            ExecutorPrediction(
                name=one.label,
                operator=one.operator,
                worker=str(plan.workers[plan.placement[index]]),
                arrived_per_second=100.0 * part,
                emitted_per_second=50.0 * part,
                tuples_out_per_second=30.0 * part,
                utilisation=part,
                stretch=1.0,
                service_seconds=0.01,
                delay_seconds=0.02,
                queue_length=3.5 * part,
            )
        )
    operators = {}
    for name in plan.logical.spans:
        own = [one for one in executors if one.operator == name]
        parts = [one.utilisation for one in own]
        operators[name] = OperatorPrediction(
            executors=len(own),
            idle=sum(part == 0.0 for part in parts),
            arrived_per_second=sum(one.arrived_per_second for one in own),
            emitted_per_second=sum(one.emitted_per_second for one in own),
            tuples_out_per_second=sum(one.tuples_out_per_second for one in own),
            utilisation=sum(parts) / len(parts),
            busiest=max(parts),
            service_seconds=0.01,
            delay_seconds=0.02,
            parts={"queueing": 0.005, "service": 0.015},
        )
    full = {one.name: one.utilisation for one in executors if one.utilisation >= 1.0}
    worst = max(executors, key=lambda one: one.utilisation)
    found = Prediction(
        model="analytic",
        verdict=Verdict.OVERLOADED if full else Verdict.FITS,
        overloaded=full,
        limit=Limit(
            factor=1.0 / worst.utilisation, per_second=80.0 / worst.utilisation, by=worst.name
        ),
        latency=UNBOUNDED if full else LATENCY,
        by_source={"in": UNBOUNDED if full else LATENCY},
        operators=operators,
        executors=tuple(executors),
        workers=tuple(
            WorkerPrediction(
                name=str(one),
                executors=4,
                cores=1.25,
                work=1.0,
                engine=0.15,
                engine_error=0.02,
                polling=0.1,
                sent_per_second=12.5,
            )
            for one in plan.workers
        ),
        machines=tuple(
            MachinePrediction(
                name=one.name,
                cores=4.0,
                background=0.5,
                busy=1.0,
                engine=0.25,
                polling=0.25,
                overloaded=False,
            )
            for one in plan.cluster.machines
        ),
        notes=("taken as it is",),
        provenance={"plan_id": "abc123"},
    )
    return replace(found, **changes)


def seen(
    executors: int, busy: list[float], *, operator="work", rate=80.0, **changes
) -> PredictedPlan:
    plan = plan_of({"in": 2, operator: executors, "out": 2}, operator)
    return PredictedPlan(
        name=f"{executors} at work",
        plan=plan,
        workload=Workload(emissions=(Emission(source="in", per_second=rate),)),
        load="as measured",
        prediction=predicted(plan, {operator: busy}, **changes),
    )


@pytest.fixture(scope="module")
def before() -> PredictedPlan:
    return seen(2, [0.82, 0.6])


@pytest.fixture(scope="module")
def after() -> PredictedPlan:
    return seen(4, [0.41, 0.3])


@pytest.fixture(scope="module")
def rushed() -> PredictedPlan:
    return seen(4, [1.25, 0.9], rate=200.0)


def page_of(before: PredictedPlan | None, after: PredictedPlan, *others: Prediction) -> str:
    return PredictionReport(predicted=after, before=before, others=others).to_html(COMMAND)


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


def held(**changes) -> Pending:
    """A source that may emit 320 of 500 tuples/s; a limit of twelve would do."""
    source = HeldSource(
        due_per_second=500.0,
        emitted_per_second=320.0,
        open_roots=5.0,
        waits=1.0,
        wait_seconds=math.inf,
        wait_p99_seconds=math.inf,
    )
    found = Pending(
        setting="max.pending",
        limit=5,
        highest_per_second=320.0,
        emitted_per_second=320.0,
        smallest=12,
        ample=20,
        stuck=(),
        holds_back="in",
        sources={"in": source},
    )
    return replace(found, **changes)


def test_a_limit_that_holds_back_is_said_with_what_would_fit(after):
    found = replace(after.prediction, overloaded={"max.pending of in": 1.5625}, pending=held())
    page = page_of(None, replace(after, prediction=found))
    assert verdict(page).startswith(
        "Overloaded: held back by max.pending = 5: at most 320 of 500 tuples/s; a limit of 12 would"
        " fit, one of 20 with hardly any wait."
    )
    assert "tuples that are due wait at their source without end" in verdict(page)
    row = table(page, "What max.pending = 5 does")["in"]
    assert (row["due"], row["emitted"], row["open"]) == ("500", "320", "5.00")
    assert "A limit of 12 would fit, one of 20 with hardly any wait." in words(parsed(page))


def test_executors_that_are_overloaded_too_are_named_before_the_limit(rushed):
    loads = {"work[3-4]": 1.25, "max.pending of in": 1.5625}
    pending = held(smallest=None, ample=None)
    found = replace(rushed.prediction, overloaded=loads, pending=pending)
    assert str(judge_prediction(found)) == (
        "Overloaded: work[3-4] (125.0 %); held back by max.pending = 5: at most 320 of 500"
        " tuples/s."
    )


def test_windows_that_may_never_fire_are_named(after):
    pending = held(stuck=("work", "out"), smallest=40, emitted_per_second=0.0)
    found = replace(after.prediction, overloaded={"max.pending of in": math.inf}, pending=pending)
    said = str(judge_prediction(found))
    assert said.startswith("Overloaded: windows of work, out may hold all roots that max.pending")
    assert "nothing gets through until roots run out of time; a limit of 40 would fit" in said


def test_a_limit_that_tuples_wait_for_is_said_though_the_plan_fits(after):
    source = replace(held().sources["in"], waits=0.221, wait_seconds=0.00488)
    pending = held(holds_back=None, sources={"in": source})
    limit = Limit(factor=1.5, per_second=120.0, by="max.pending of in")
    found = replace(after.prediction, limit=limit, pending=pending)
    said = verdict(page_of(None, replace(after, prediction=found)))
    assert "then max.pending = 5 holds in back." in said
    assert (
        "22.1 % of tuples would wait at their source for max.pending = 5, 4.88 ms on the mean of"
        " all; with a limit of 20 hardly any would." in said
    )
    seldom = replace(source, waits=1e-4)
    quiet = replace(found, pending=replace(pending, sources={"in": seldom}))
    assert "What max.pending" not in page_of(None, replace(after, prediction=quiet))


def test_figures_of_a_limit_are_in_the_long_table(after):
    report = PredictionReport(
        predicted=replace(after, prediction=replace(after.prediction, pending=held()))
    )
    rows = {(row.subject, row.name, row.figure): row.value for row in report.figures()}
    assert rows["job", "", "smallest_pending_limit"] == 12.0
    assert rows["job", "", "emitted"] == 320.0
    assert rows["source", "in", "open_roots"] == 5.0


def test_the_reasons_go_on_without_the_limit(after):
    first = Bottleneck(
        limit=Limit(factor=0.64, per_second=320.0, by="max.pending of in"),
        operator=None,
        executors=None,
        tasks=None,
    )
    rest = [replace(one, unlimited=True) for one in EXPLAINED.bottlenecks]
    explanation = replace(EXPLAINED, bottlenecks=(first, *rest))
    found = replace(after.prediction, pending=held(), explanation=explanation)
    page = page_of(None, replace(after, prediction=found))
    rows = table(page, "What is full first as all rates grow")
    assert list(rows) == ["this plan", "no max.pending", "no max.pending, 6 of work"]
    assert "or leaves max.pending out" in words(parsed(page))


EXPLAINED = Explanation(
    bottlenecks=(
        Bottleneck(
            limit=Limit(factor=2.0, per_second=160.0, by="work[3-4]"),
            operator="work",
            executors=3,
            tasks=8,
        ),
        Bottleneck(
            limit=Limit(factor=4.0, per_second=320.0, by="node-1"),
            operator=None,
            executors=None,
            tasks=None,
        ),
    ),
    sensitivities={
        "work": Sensitivity(
            longer_service=0.5, longer_service_p99=0.00677, one_more=-0.001, one_more_limit=200.0
        ),
        "out": Sensitivity(
            longer_service=0.0, longer_service_p99=math.inf, one_more=None, one_more_limit=None
        ),
    },
)


def test_reasons_stand_in_a_section_of_their_own(after):
    assert 'id="reasons"' not in page_of(None, after)
    found = replace(after.prediction, explanation=EXPLAINED)
    page = page_of(None, replace(after, prediction=found))
    assert 'href="#reasons"' in page
    rows = table(page, "What is full first as all rates grow")
    assert rows["this plan"]["then full"] == "work[3-4]"
    assert rows["6 of work"]["fits up to"] == "320"
    [caption] = [one for one in re.findall("<caption>(.*)</caption>", page) if "change" in one]
    rows = [[words(cell) for cell in row] for row in parsed(page).iter("tr")]
    # Half a per cent, less than can be told, a millisecond less, and 200 tuples/s would fit.
    assert ["work", "0.5 %", "<0.1 %", "−1.00 ms", "200"] in rows
    assert table(page, caption)["out"]["one executor more"] == "no task left"


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
