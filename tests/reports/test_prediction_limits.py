"""What reports of a prediction say of limits, and of what would help."""

import math
import re
from dataclasses import replace

from streamgauge.models.pending_limit import HeldSource, Pending
from streamgauge.models.prediction import (
    Bottleneck,
    Limit,
)
from streamgauge.reports.prediction import PredictionReport
from streamgauge.reports.prediction_verdict import judge_prediction
from tests.reports.pages import parsed, table, verdict, words
from tests.reports.predicted_plans import (
    EXPLAINED,
    page_of,
)


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
