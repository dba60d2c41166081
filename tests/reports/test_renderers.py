"""One statement, three renderings: what a report says is the same everywhere, and cannot break."""

import json
import math
from xml.etree import ElementTree

import pytest

from streamgauge.drawing.wording import clip
from streamgauge.errors import InvalidInput, MissingExtra
from streamgauge.extras import require_extra
from streamgauge.reports.content import (
    Chart,
    ChartRow,
    Column,
    Commands,
    FigureRow,
    Grade,
    RowGroup,
    Section,
    Table,
    Term,
    Terms,
    Text,
    Verdict,
)
from streamgauge.reports.report import Report
from streamgauge.reports.terminal import render_table

NASTY = "<script>alert('&\"')</script>"
COLUMNS = (Column("operator", words=True), Column("rate", "tuples/s"))


def draw(embedded: bool) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="10"><!--{embedded}--></svg>'
    )


class SmallReport(Report):
    title = f"tiny {NASTY}"
    about = "one executor"
    verdict = Verdict(
        grade=Grade.BAD, word="Overloaded", sentence=": sink.", cautions=("Mind it.",)
    )
    headline = (Term("p99 latency", "2 ms"),)

    def __init__(self, *tables: Table) -> None:
        self.tables = tables

    def sections(self):
        return [
            Section("figures", "All figures", self.tables),
            Section(
                "pictures",
                "Pictures",
                [
                    Chart(title="one", draw=draw, caption=NASTY, wide=True),
                    ChartRow(charts=[Chart(title="two", draw=draw)]),
                ],
            ),
            Section("notes", "Notes", [Text(["A note."])]),
            Section("apply", "To apply it", [Commands(["run a b"])]),
            Section(
                "made",
                "How this was made",
                [Terms([Term("seed", "7")])],
            ),
        ]

    def document(self):
        return {"latency": math.inf, "rates": [1.5, math.nan]}

    def figures(self):
        yield FigureRow(subject="operator", name="sink", figure="rate", value=3.0, unit="1/s")


def small_table(**more) -> Table:
    return Table(caption="Operators", columns=COLUMNS, rows=[[NASTY, "12"], ["sink", None]], **more)


def page_of(report: Report) -> ElementTree.Element:
    page = report.to_html("streamgauge predict 'a<b>'")
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def test_a_page_is_well_formed_whatever_names_there_are():
    text = "".join(page_of(SmallReport(small_table())).itertext())
    assert NASTY in text
    assert "streamgauge predict 'a<b>'" in text


def test_a_page_runs_and_loads_nothing():
    page = SmallReport(small_table()).to_html()
    assert "<script" not in page
    assert "default-src 'none'" in page


def test_a_page_links_to_each_of_its_sections_and_leaves_empty_ones_out():
    root = page_of(SmallReport(Table(caption="none", columns=COLUMNS)))
    links = [link.get("href") for link in root.iter("a")]
    assert links == ["#pictures", "#notes", "#apply", "#made"]
    assert {f"#{heading.get('id')}" for heading in root.iter("h2")} == set(links)


def test_a_page_shows_the_first_rows_of_a_long_table_and_counts_the_rest():
    rows = [[f"operator {n}", str(n)] for n in range(250)]
    root = page_of(SmallReport(Table(caption="many", columns=COLUMNS, rows=rows)))
    text = "".join(root.itertext())
    assert "operator 199" in text
    assert "operator 200" not in text
    assert "50 more rows are left out" in text


def test_tables_for_pages_only_are_not_on_a_terminal():
    report = SmallReport(small_table(page_only=True))
    assert "Operators" not in report.to_text()
    assert "Operators" in report.to_html()


def test_columns_for_terminals_only_are_not_on_a_page():
    columns = (Column("operator", words=True), Column("short", terminal_only=True))
    report = SmallReport(Table(caption="Operators", columns=columns, rows=[["sink", "brief"]]))
    assert "brief" in report.to_text()
    assert "brief" not in report.to_html()


def test_warnings_are_on_pages_and_before_printed_text():
    class WarningReport(SmallReport):
        warnings = ("one node is assumed",)

    report = WarningReport()
    assert "Warning: one node is assumed" in report.to_html()
    assert str(report).startswith("warning: one node is assumed\n")
    assert "one node is assumed" not in report.to_text()


def test_terminal_text_leads_with_the_verdict_and_ends_with_the_commands():
    lines = SmallReport(small_table()).to_text().splitlines()
    assert lines[:4] == ["one executor", "Overloaded: sink.", "p99 latency 2 ms", "Mind it."]
    assert lines[-2:] == ["To apply it", "  run a b"]


def test_terminal_tables_never_break_a_word_or_a_figure():
    table = Table(
        caption="",
        columns=(Column("name"), Column("made up of", words=True)),
        rows=[["splitter", "transfer 78.4 %, network 20.6 %, service 0.7 %"]],
    )
    lines = list(render_table(table, 40))
    words = {word for line in lines for word in line.split()}
    assert {"transfer", "78.4", "network", "20.6", "service", "splitter"} <= words
    assert max(map(len, lines)) <= 40
    assert all(f"{figure} %" in "\n".join(lines) for figure in ("78.4", "20.6", "0.7"))


def test_terminal_tables_cut_long_names_in_the_middle_rather_than_figures():
    table = Table(caption="", columns=COLUMNS, rows=[["a" * 60 + "-end", "123,456,789"]])
    lines = list(render_table(table, 40))
    assert max(map(len, lines)) <= 40
    assert any(line.rstrip().endswith("123,456,789") and "…" in line for line in lines)


def test_tables_leave_out_columns_that_hold_nothing():
    table = Table(caption="", columns=COLUMNS, rows=[["a", None], ["b", "–"]])
    assert "rate" not in "\n".join(render_table(table, 80))
    assert "rate" not in SmallReport(table).to_html()


def test_terminal_tables_count_rows_beyond_forty():
    rows = [[f"operator {n}", str(n)] for n in range(45)]
    text = "\n".join(render_table(Table(caption="", columns=COLUMNS, rows=rows), 80))
    assert "5 more; --json lists them all" in text


def test_groups_have_headings_on_page_and_terminal():
    table = Table(
        caption="both", columns=COLUMNS, groups=[RowGroup(heading="before", rows=[["a", "1"]])]
    )
    assert "before" in SmallReport(table).to_text()
    assert "rowgroup" in SmallReport(table).to_html()


@pytest.mark.parametrize(("name", "width", "cut"), [("abcdefghi", 5, "ab…hi"), ("abc", 5, "abc")])
def test_names_are_cut_in_the_middle(name, width, cut):
    assert clip(name, width) == cut


def test_a_document_has_its_version_and_no_infinities():
    document = SmallReport().to_dict()
    assert document == {"schema_version": 1, "latency": None, "rates": [1.5, None]}
    assert json.dumps(document, allow_nan=False)


def test_the_long_table_has_one_row_a_figure():
    frame = SmallReport().to_pandas()
    known = {"subject": "operator", "name": "sink", "figure": "rate", "value": 3.0, "unit": "1/s"}
    assert frame.drop(columns=["low", "high"]).to_dict("records") == [known]
    assert frame[["low", "high"]].isna().all(axis=None)


def test_a_notebook_fragment_takes_its_colours_from_the_notebook():
    fragment = SmallReport(small_table())._repr_html_()
    ElementTree.fromstring(fragment)
    assert "color: inherit" in fragment
    assert "prefers-color-scheme" not in fragment


def test_pictures_are_numbered_as_on_the_page():
    report = SmallReport()
    assert [chart.title for chart in report.charts] == ["one", "two"]
    assert report.plot(1).svg.startswith("<svg")
    with pytest.raises(InvalidInput, match="picture 2 of 2"):
        report.plot(2)


def test_a_missing_package_is_named_with_what_to_install():
    with (
        pytest.raises(MissingExtra, match=r"pip install 'streamgauge\[pandas\]'"),
        require_extra("pandas"),
    ):
        raise ModuleNotFoundError(name="pandas.core")


def test_a_missing_module_of_our_own_is_a_fault_and_not_an_extra():
    with pytest.raises(ModuleNotFoundError), require_extra("pandas"):
        raise ModuleNotFoundError(name="streamgauge.nothing")
