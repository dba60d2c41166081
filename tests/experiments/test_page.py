"""The page on experiments says what is true."""

import re
import shutil

from streamgauge.experiments.files.experiment_file import (
    ExperimentFile,
    MarkingFile,
    VariantFile,
    WarmUpFile,
    load_experiment,
)


def page(project):
    return (project / "docs" / "experiments.md").read_text()


def test_the_file_on_the_page_is_an_experiment(project, tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", page(project), re.DOTALL)
    (tmp_path / "experiment.yaml").write_text(text)
    shutil.copy(project / "examples" / "word-count.yaml", tmp_path)
    steps = load_experiment(tmp_path / "experiment.yaml").steps
    assert [step.name for step in steps] == ["slow", "fast"]


def test_every_key_is_on_the_page(project):
    text = page(project)
    models = (ExperimentFile, VariantFile, WarmUpFile, MarkingFile)
    keys = {key for model in models for key in model.model_fields} - {"streamgauge", "about"}
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_the_files_that_the_page_names_are_there(project):
    names = set(re.findall(r"examples/[\w./-]+yaml", page(project)))
    assert names
    assert [name for name in sorted(names) if not (project / name).exists()] == []
