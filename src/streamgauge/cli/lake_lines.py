"""What ``streamgauge lake quarantine`` prints: lines that were not taken, and why."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.cli.figure_tables import print_figures
from streamgauge.cli.output import printable, say, warn

if TYPE_CHECKING:
    from streamgauge.lake.contents import Quarantined
    from streamgauge.lake.locating import Located

# What a terminal shows of one line.
MOST_SHOWN = 400

Counts = Sequence[tuple[tuple[str, ...], int]]


def quarantine_document(
    reasons: Counts,
    files: Counts,
    lines: Sequence[Quarantined] | None,
    located: Sequence[Located] | None,
) -> dict[str, Any]:
    """What ``lake quarantine`` says, for programs."""
    document: dict[str, Any] = {
        "reasons": {key[0]: number for key, number in reasons},
        "files": [
            {"file": file, "reason": reason, "lines": number} for (file, reason), number in files
        ],
    }
    if located is not None:
        document["lines"] = [
            _line(one.line) | {"numbers": list(one.numbers), "times": one.times, "fault": one.fault}
            for one in located
        ]
    elif lines is not None:
        document["lines"] = [_line(one) for one in lines]
    return document


def _line(line: Quarantined) -> dict[str, Any]:
    record: dict[str, Any] = {
        "file": line.file,
        "reason": line.reason,
        "detail": line.detail,
        "received_at": line.received_at.isoformat(),
        "raw": line.raw.decode(errors="backslashreplace"),
    }
    # What is no text is given in full beside what can be shown of it.
    if record["raw"].encode() != line.raw:
        record["raw_base64"] = base64.b64encode(line.raw).decode()
    return record


def print_quarantine(
    reasons: Counts,
    files: Counts,
    lines: Sequence[Quarantined] | None,
    located: Sequence[Located] | None,
    limit: int,
) -> None:
    """What ``lake quarantine`` says."""
    if not reasons:
        print("no such lines are in quarantine")
        return
    if located is not None:
        for one in located:
            _print_line(one.line, _places(one))
        warn(sorted({f"{one.line.file}: {one.fault}" for one in located if one.fault}))
    elif lines is not None:
        for line in lines:
            _print_line(line, "")
    else:
        print_figures(
            "Lines by reason",
            ("reason", "lines"),
            [(key[0], f"{number:,}") for key, number in reasons],
        )
        shown = files[: limit or None]
        print_figures(
            "Lines by file",
            ("file", "reason", "lines"),
            [(*key, f"{number:,}") for key, number in shown],
            texts=2,
        )
        _say_more(len(files) - len(shown))
        return
    _say_more(sum(number for _, number in reasons) - len(lines or ()))


def _say_more(number: int) -> None:
    if number > 0:
        say(f"and {number:,} more; --limit 0 shows all")


def _places(one: Located) -> str:
    if not one.numbers:
        return ": not found"
    more = f" and {one.times - len(one.numbers)} more" if one.times > len(one.numbers) else ""
    return f":{','.join(map(str, one.numbers))}{more}"


def _print_line(line: Quarantined, place: str) -> None:
    text = printable(line.raw.decode(errors="replace"))
    more = f"… ({len(line.raw):,} bytes)" if len(text) > MOST_SHOWN else ""
    print(f"{printable(line.file)}{place}: {line.reason}: {printable(line.detail)}")
    print(f"    {text[:MOST_SHOWN]}{more}")
