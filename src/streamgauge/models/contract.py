"""What a model is, and which ones are installed."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Protocol

from streamgauge.errors import InvalidInput, guess
from streamgauge.models.prediction import Prediction
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload

ENTRY_POINTS = "streamgauge.models"


class Model(Protocol):
    """Says how a job would behave on a plan."""

    name: str

    def describe(self) -> str:
        """One sentence on what it looks at."""
        ...

    def predict(self, profile: Profile, plan: PhysicalPlan, workload: Workload) -> Prediction:
        """How the profile's job would behave on `plan` under `workload`.

        Raises:
            InvalidInput: The plan or the workload is not that of the profile's job.
            NotEnoughData: The profile lacks what the model needs.
        """
        ...


def model_names() -> tuple[str, ...]:
    """The names of all installed models."""
    return tuple(sorted(point.name for point in entry_points(group=ENTRY_POINTS)))


def load_model(name: str) -> Model:
    """The model of that name, or InvalidInput with the known names."""
    for point in entry_points(group=ENTRY_POINTS, name=name):
        model: Model = point.load()()
        return model
    names = model_names()
    raise InvalidInput.single(
        ("--model",),
        seen=f"model {name!r}",
        expected=f"one of {', '.join(names)}",
        remedy=guess(name, names),
    )
