"""What a model is, and which ones are installed."""

from __future__ import annotations

from typing import Protocol

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Prediction
from streamgauge.plugins import MODELS, load_plugin, plugin_names
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload


class Model(Protocol):
    """Says how a job would behave on a plan."""

    name: str

    def describe(self) -> str:
        """One sentence on what it looks at."""
        ...

    def predict(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        """How the job would behave on `plan` under `workload`.

        Raises:
            InvalidInput: The plan or the workload is of another job, or the model cannot answer.
        """
        ...


def model_names() -> tuple[str, ...]:
    """The names of all installed models."""
    return plugin_names(MODELS)


def load_model(name: str) -> Model:
    """The model of that name, or InvalidInput with the known names."""
    model: Model = load_plugin(MODELS, name, ("--model",))()
    return model
