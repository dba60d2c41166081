"""The sections `datastream` and `workflow` of a file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from streamgauge.applications.application import Routing
from streamgauge.applications.data import Data
from streamgauge.applications.files.parts import (
    BalancingWord,
    DataFile,
    FlowFile,
    KafkaFile,
    RoutingWord,
    WindowingFile,
    ZooKeeperFile,
    convert_filtering,
    refuse_external,
)
from streamgauge.applications.flow import Flow
from streamgauge.applications.series import DEFAULT_VARIABILITY, Balancing
from streamgauge.applications.workflow import Connection, GraphShape, Load, Scalability, Workflow
from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.files.schema import FileModel


class SyntheticFile(FileModel):
    """Sources that generate their tuples."""

    data: DataFile = DataFile()
    flow: FlowFile = FlowFile()


class ExternalFile(FileModel):
    """Sources that read their tuples from outside."""

    kafka: KafkaFile = KafkaFile()
    zookeeper: ZooKeeperFile = ZooKeeperFile()


class DatastreamFile(FileModel):
    """What the sources of a workflow emit."""

    synthetic: SyntheticFile | None = None
    external: ExternalFile | None = None

    def build(self) -> tuple[Data, Flow]:
        """The data, and how fast it flows."""
        findings = Findings()
        if self.synthetic is not None and self.external is not None:
            findings.add(
                "external",
                seen="synthetic and external together",
                expected="one of them: external replaces synthetic",
            )
        elif self.external is not None:
            findings.add("external", **refuse_external("Kafka"))
        findings.raise_if_any()
        synthetic = self.synthetic or SyntheticFile()
        data, flow = Data(), Flow()
        with findings.at("synthetic", "data"):
            data = synthetic.data.build()
        with findings.at("synthetic", "flow"):
            flow = synthetic.flow.build()
        findings.raise_if_any()
        return data, flow


class ScalabilityFile(FileModel):
    """Instances in total, sources included."""

    parallelism: int = 10
    balancing: BalancingWord = "balanced"
    variability: float = Field(default=DEFAULT_VARIABILITY, description="0 is flat, 1 is steep")


class ConnectionFile(FileModel):
    """Edges."""

    shape: Literal["linear", "diamond", "star"] = "linear"
    routing: RoutingWord = "balanced"


class LoadFile(FileModel):
    """Load of a tuple."""

    processing: float = Field(default=10.0, description="of the first task, in 1000 cycles")
    balancing: BalancingWord = "balanced"
    reliability: bool | None = None


class WorkflowFile(FileModel):
    """An application by its depth, shape and totals."""

    depth: int = Field(default=3, description="levels, sources included")
    scalability: ScalabilityFile = ScalabilityFile()
    connection: ConnectionFile = ConnectionFile()
    workload: LoadFile = LoadFile()
    reliability: bool | None = None
    filtering: float = Field(default=0.0, description="part that is forwarded; 0 is no filter")
    windowing: WindowingFile | None = None

    def build(self, data: Data, flow: Flow) -> Workflow:
        """The workflow with these sources."""
        findings = Findings()
        check_number(findings, self.filtering, "filtering", most=1.0)
        reliability = {
            one for one in (self.reliability, self.workload.reliability) if one is not None
        }
        if len(reliability) > 1:
            findings.add(
                "reliability",
                seen="different values of reliability and workload.reliability",
                expected="one of them, or the same value twice",
            )
        scalability, connection, load, window = Scalability(), Connection(), Load(), None
        with findings.at("scalability"):
            scalability = Scalability(
                parallelism=self.scalability.parallelism,
                balancing=Balancing(self.scalability.balancing),
                variability=self.scalability.variability,
            )
        with findings.at("connection"):
            connection = Connection(
                shape=GraphShape(self.connection.shape), routing=Routing(self.connection.routing)
            )
        with findings.at("workload"):
            load = Load(
                processing=self.workload.processing,
                balancing=Balancing(self.workload.balancing),
            )
        with findings.at("windowing"):
            window = None if self.windowing is None else self.windowing.build()
        findings.raise_if_any()
        return Workflow(
            depth=self.depth,
            scalability=scalability,
            connection=connection,
            workload=load,
            filtering=convert_filtering(self.filtering),
            window=window,
            reliability=all(reliability),
            data=data,
            flow=flow,
        )
