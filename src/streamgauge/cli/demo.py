"""``streamgauge demo``: the product's main job on a bundled example, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import print_document, say, write_text

EXAMPLE = "word-count.yaml"
DEMO_RATE = 1833.0
SEED = 1


def demo(
    output: Annotated[Path, typer.Option(help="Folder for what the demonstration writes.")] = Path(
        "streamgauge-demo"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run the main job on a bundled example: every stage of the product that there is."""
    from streamgauge.cli.examples import example_path
    from streamgauge.cli.simulate import at_rate, progress_bar, simulator
    from streamgauge.cli.simulation_report import print_result, result_document
    from streamgauge.cli.topology import load_plan, picture, plan_document, print_job

    say(f"demo: {EXAMPLE}, a bundled example; see `streamgauge topology show --help` for more")
    job, flow = load_plan(str(example_path(EXAMPLE)))
    if not as_json:
        print_job(job, flow)
    make_folder(output)
    write_text(output / "topology.svg", picture(flow, physical=False, ackers=False))
    write_text(output / "plan.svg", picture(flow, physical=True, ackers=False))
    say("simulating a fiftieth of its load")
    assert job.workload is not None
    workload = at_rate(job.workload, DEMO_RATE)
    result = simulator()(
        flow.plan,
        job.behaviours,
        workload,
        seconds=5.0,
        warmup=None,
        seed=SEED,
        progress=progress_bar(),
    )
    if as_json:
        simulated = result_document(job, result, SEED)
        print_document({**plan_document(job, flow), "simulated": simulated})
    else:
        print()
        print_result(job, result)


def make_folder(folder: Path) -> None:
    """Create a folder to write into, or say why not."""
    from streamgauge.errors import InvalidInput

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen=(error.strerror or str(error)).lower(),
            expected="a folder that can be made",
        ) from None
