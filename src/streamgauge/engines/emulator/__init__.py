"""The simulator seen as an engine: it writes what the metrics agents of a cluster would."""

from streamgauge.engines.emulator.emulation import emulate

__all__ = ["emulate"]
