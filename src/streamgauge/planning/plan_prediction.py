"""How a plan would behave: the one place where planners ask a model."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.declared import declared_profile
from streamgauge.models.prediction import Prediction
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPredictor:
    """Predicts plans of one job under one load, by the analytic model.

    Attributes:
        profile: What operators do, measured or declared.
        workload: What sources emit.
    """

    profile: Profile
    workload: Workload

    @classmethod
    def of(cls, job: Job, profile: Profile | None) -> PlanPredictor | None:
        """For a job with a load: by its profile, or by what it declares where there is none.

        Raises:
            InvalidInput: There is no profile, and an operator has no behaviour.
        """
        if job.workload is None:
            return None
        source = declared_profile(job) if profile is None else profile
        return cls(profile=source, workload=job.workload)

    def predict(self, plan: PhysicalPlan) -> Prediction:
        """How the job would behave on a plan.

        Raises:
            InvalidInput: The plan is of another job.
            NotEnoughData: A figure that the model needs is missing.
        """
        return AnalyticModel().predict(self.profile, plan, self.workload)
