"""Bytes that move through a plan: by stream, and through the network cards of machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamgauge.drawing.wording import (
    format_bytes_rate,
    format_number,
    format_utilisation,
    list_names,
)
from streamgauge.reports.content import Block, Cell, Column, FigureRow, Table, Text, tabulate
from streamgauge.reports.report import list_figures

if TYPE_CHECKING:
    from streamgauge.models.byte_flow import ByteFlow, MachineBytes, StreamBytes

# What the engine's own messages are called when they are added up.
ENGINE = "the engine's own messages"
# Part of what a network card carries from which it is nearly full.
FULL_CARD = 0.8
PER_SECOND = "_bytes_per_second"
DISTANCES = {
    "inside workers": "local",
    "between workers": "inter_worker",
    "between nodes": "remote",
}


def show_bytes(flow: ByteFlow) -> list[Block]:
    """Tables of streams and of network cards; a word where sizes are not known."""
    blocks: list[Block] = []
    if flow.is_known:
        blocks = [tabulate_streams(flow), tabulate_cards(flow)]
    return [*blocks, *say_what_is_unknown(flow)]


def say_what_is_unknown(flow: ByteFlow) -> Iterator[Text]:
    """Which sizes are missing, and where to get them; nothing where none are."""
    if not flow.unknown:
        return
    names = list_names(list(flow.unknown))
    effect = "are too low by them" if flow.is_known else "are not given"
    yield Text(
        [
            f"How large tuples are is not known of {names}: bytes between workers and nodes"
            f" {effect}. The agent measures sizes; a job file declares them under `bytes`."
        ]
    )


def tabulate_streams(flow: ByteFlow) -> Table:
    """What every stream moves; the engine's own messages are one row."""
    own = [one for one in flow.streams if not one.is_system]
    rows = [
        {
            Column("stream"): one.stream,
            Column("tuple", "bytes"): None
            if one.tuple_bytes is None
            else format_number(one.tuple_bytes),
            Column("as a message", "bytes"): None
            if one.message_bytes is None
            else format_number(one.message_bytes),
            Column("emitted"): _show(one, "emitted"),
            Column("delivered"): _show(one, "delivered"),
            **{Column(name): _show(one, figure) for name, figure in DISTANCES.items()},
        }
        for one in own
    ]
    if len(own) < len(flow.streams):
        total = {figure: _add(flow, figure) for figure in ("emitted", "delivered", *DISTANCES)}
        rows.append({Column("stream"): ENGINE, **{Column(name): n for name, n in total.items()}})
    return tabulate(
        "Bytes by stream",
        rows,
        note="Delivered: a copy for each receiver. Between workers and nodes: with what the engine"
        " adds to a tuple.",
    )


def _show(stream: StreamBytes, figure: str) -> Cell:
    amount = getattr(stream, f"{figure}{PER_SECOND}")
    return None if amount is None else format_bytes_rate(amount)


def _add(flow: ByteFlow, name: str) -> str:
    figure = f"{DISTANCES.get(name, name)}{PER_SECOND}"
    return format_bytes_rate(flow.total(figure) - flow.total(figure, system=False))


def tabulate_cards(flow: ByteFlow) -> Table:
    """What machines send each other, and what their network cards carry."""
    return tabulate(
        "Network cards",
        [
            {
                Column("machine"): machine.name,
                Column("sends"): format_bytes_rate(machine.sent_bytes_per_second),
                Column("receives"): format_bytes_rate(machine.received_bytes_per_second),
                Column("needs", "Gbit/s"): format_number(machine.busiest * 8.0 / 1e9),
                Column("carries", "Gbit/s"): None
                if machine.network_bytes_per_second is None
                else format_number(machine.network_bytes_per_second * 8.0 / 1e9),
                Column("in use"): None
                if machine.in_use is None
                else format_utilisation(machine.in_use),
                Column("state", words=True): _judge(machine),
            }
            for machine in flow.machines
            if len(flow.machines) > 1
        ],
        note="Needs: the busier direction, without headers of TCP and IP."
        + (
            " How fast a card is: network_gbit_per_second of its machine in the job file."
            if all(one.network_bytes_per_second is None for one in flow.machines)
            else ""
        ),
    )


def _judge(machine: MachineBytes) -> str:
    if machine.in_use is None or machine.in_use < FULL_CARD:
        return ""
    return "overloaded" if machine.in_use >= 1.0 else "nearly full"


def list_byte_figures(flow: ByteFlow) -> Iterator[FigureRow]:
    """Bytes of streams, nodes and machines; where sizes are known."""
    for stream in flow.streams:
        yield from list_figures("stream", stream.stream, stream)
    for subject, each in (
        ("worker", flow.workers),
        ("node", flow.nodes),
        ("machine", flow.machines),
    ):
        for one in each if flow.is_known else ():
            yield from list_figures(subject, one.name, one)
