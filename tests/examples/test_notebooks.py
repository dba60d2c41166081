"""Notebooks run from their first cell to the last, and show what they promise."""

import nbformat
import pytest
from nbclient import NotebookClient


def run(path):
    """The notebook, executed in its folder."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": path.parent}})
    client.execute()
    return notebook


def shown(cell) -> dict[str, str]:
    """What a cell displays, by media type."""
    return {
        media: text
        for output in cell.outputs
        if "data" in output
        for media, text in output["data"].items()
    }


@pytest.mark.filterwarnings("default")
def test_the_first_prediction_runs(project):
    notebook = run(project / "examples/notebooks/first-prediction.ipynb")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    load, predict, plot, table, compare, placements, scalings = map(shown, code)
    assert load == {}
    assert "p99 latency" in predict["text/html"]
    assert plot["image/svg+xml"].startswith("<svg")
    assert "p99" in table["text/html"]
    assert "prefers" in compare["text/html"]
    assert "traffic-aware" in placements["text/html"]
    assert "splitter" in scalings["text/html"]
