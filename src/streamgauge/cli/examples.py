"""``streamgauge examples``: the bundled examples, wherever the package is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import streamgauge
from streamgauge.cli.options import AsJson
from streamgauge.cli.output import print_document, say
from streamgauge.drawing.wording import count
from streamgauge.errors import InvalidInput, did_you_mean


def examples(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Copy them into this folder; it may exist already."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the bundled examples, or copy them to where they can be changed."""
    folder = examples_folder()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [str(path.relative_to(folder)) for path in files]
    copied = names if output is None else _copy(folder, names, output)
    if as_json:
        target = None if output is None else str(output)
        print_document({"examples": names, "folder": str(folder), "copied_to": target})
    elif output is None:
        print("\n".join(names))
        say(f"in {folder}; `streamgauge examples -o examples` copies them")
    else:
        say(f"copied {count(len(copied), 'file')} to {output}")


def examples_folder() -> Path:
    """The folder of examples: a wheel holds it inside the package, a checkout beside `src/`."""
    package = Path(streamgauge.__file__).parent
    inside = package / "examples"
    return inside if inside.is_dir() else package.parent.parent / "examples"


def example_path(name: str) -> Path:
    """The bundled example of that file name."""
    folder = examples_folder()
    if (folder / name).is_file():
        return folder / name
    known = sorted(path.name for path in folder.glob("*.yaml"))
    raise InvalidInput.single(
        (), seen=f"example {name!r}", expected="a bundled example", remedy=did_you_mean(name, known)
    )


def _copy(folder: Path, names: list[str], output: Path) -> list[str]:
    """Copy files that are not there yet: somebody may have changed the others."""
    from streamgauge.topology.files.document import make_folder, write_whole

    copied = []
    for name in names:
        target = output / name
        if target.exists():
            say(f"{target} already exists; left unchanged")
            continue
        make_folder(target.parent)
        write_whole(target, (folder / name).read_bytes())
        copied.append(name)
    return copied
