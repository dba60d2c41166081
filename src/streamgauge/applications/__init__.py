"""Synthetic applications: described in a few lines, expanded to jobs.

The description languages, the expansion rules and their defaults are those of NAMB: A. Pagliari,
Evaluating the impact of streaming systems design on application performance, PhD thesis, Université
Côte d'Azur, 2021, chapter 4. Sections and figures in these modules are that document's.
"""

from streamgauge.applications.application import Application, Routing, Task
from streamgauge.applications.datastream import Data, DataDistribution, Flow, FlowKind
from streamgauge.applications.expansion import list_remarks, make_job
from streamgauge.applications.platform import Platform
from streamgauge.applications.workflow import Workflow, expand_workflow

__all__ = [
    "Application",
    "Data",
    "DataDistribution",
    "Flow",
    "FlowKind",
    "Platform",
    "Routing",
    "Task",
    "Workflow",
    "expand_workflow",
    "list_remarks",
    "make_job",
]
