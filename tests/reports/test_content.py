"""Tables made of rows that name their columns, and rows of long tables."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.reports.content import Column, FigureRow, tabulate, tabulate_groups
from streamgauge.reports.report import list_figures


@dataclass(frozen=True)
class Measured:
    """Figures as records of results have them."""

    name: str = "count"
    tasks: int = 2
    saturated: bool = True
    wait_seconds: float = 0.5
    emitted_per_second: float = 40.0
    cores: float = 1.5


def test_columns_come_in_the_order_in_which_rows_name_them() -> None:
    table = tabulate(
        "Queues",
        [
            {Column("queue"): "a", Column("wait", "ms"): "3"},
            {Column("queue"): "b", Column("limit"): 7},
        ],
        note="short",
    )
    assert [column.heading for column in table.columns] == ["queue", "wait (ms)", "limit"]
    assert table.row_groups[0].rows == [["a", "3", None], ["b", None, 7]]
    assert (table.caption, table.note, table.page_only) == ("Queues", "short", False)


def test_groups_share_their_columns() -> None:
    groups = {"before": [{Column("queue"): "a"}], "after": [{Column("queue"): "b"}]}
    table = tabulate_groups("Queues", groups, page_only=True)
    assert [group.heading for group in table.row_groups] == ["before", "after"]
    assert [group.rows for group in table.row_groups] == [[["a"]], [["b"]]]
    assert table.page_only


def test_a_table_without_rows_is_empty() -> None:
    assert tabulate("Queues", []).is_empty


def test_numbers_of_a_record_have_the_unit_that_their_name_ends_in() -> None:
    rows = list(list_figures("operator", "count", Measured()))
    assert [(row.figure, row.value, row.unit) for row in rows] == [
        ("tasks", 2.0, ""),
        ("wait_seconds", 0.5, "s"),
        ("emitted_per_second", 40.0, "1/s"),
        ("cores", 1.5, "cores"),
    ]


def test_a_given_unit_is_that_of_all_numbers() -> None:
    (row,) = list_figures("latency", "all", {"mean": 0.25}, unit="s")
    assert row == FigureRow(subject="latency", name="all", figure="mean", value=0.25, unit="s")
