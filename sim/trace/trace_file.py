"""A trace on its way to a file: what is told while a core runs, and the file in the end."""

from pathlib import Path

from hdl.config import CoreConfig
from sim.files import write_files
from sim.simulation import Simulation
from sim.trace.command_log import CommandLog
from sim.trace.core_trace import core_trace
from sim.trace.probes import probes_of
from sim.trace.recording import Recording


class TraceFile:
    """A file in the Trace Event Format, for Perfetto and Chrome.

    The machine tells `log` which commands it handed over, and who runs a program where they stand.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = CommandLog()

    def write(self, config: CoreConfig, simulation: Simulation) -> None:
        """Write what a simulation has recorded; OSError as writing does."""
        recording = Recording(probes_of(config), simulation.changes, simulation.observed_cycles)
        events = core_trace(config, recording, self.log)
        about = {
            "cycles": recording.cycles,
            "profile": config.dot_product.profile.name,
            "dot-product units": config.dot_product_units,
            "f64 units": config.f64_units,
            "registers": config.registers,
            "warps": config.warps,
        }
        write_files({self.path: events.json(about)})
