"""The bridge to nimbus: a process in Java that is asked in lines of JSON."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from streamgauge.engines.storm.jars import java_command, own_jar, storm_jars
from streamgauge.engines.storm.layout import LOGGING
from streamgauge.errors import InternalError, InvalidInput, SourceUnreachable, StreamgaugeError

MAIN = "io.streamgauge.storm.bridge.Bridge"
_NIMBUS_MS = 20_000
_ANSWER_SECONDS = 60.0
_END_SECONDS = 5.0


def bridge_command(host: str, port: int) -> list[str]:
    """How the bridge to a nimbus is started."""
    return [
        java_command(),
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Dlog4j.configurationFile={LOGGING / 'client.xml'}",
        "-cp",
        f"{own_jar()}:{storm_jars().workers}/*",
        MAIN,
        host,
        str(port),
        str(_NIMBUS_MS),
    ]


class Bridge:
    """Asks a nimbus; used as a context.

    What troubles the bridge goes to the log, nowhere unless given. A command takes the place of our
    own way to start it.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        log: Path | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        self.address = f"{host}:{port}"
        self._command = list(command) if command is not None else bridge_command(host, port)
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._last_id = 0

    def __enter__(self) -> Bridge:
        with (self._log or Path("/dev/null")).open("a") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                # Ctrl-C is for whoever holds the bridge, who may still have something to ask.
                start_new_session=True,
            )
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def ask(
        self, verb: str, *, timeout_seconds: float = _ANSWER_SECONDS, **arguments: Any
    ) -> dict[str, Any]:
        """What nimbus answers.

        Raises:
            SourceUnreachable: Nimbus or the bridge do not answer.
            InvalidInput: Nimbus does not know the topology, or refuses.
        """
        if self._process is None or self._process.stdin is None:
            raise InternalError("a bridge was asked outside of its context")
        self._last_id += 1
        request = json.dumps({"id": self._last_id, "do": verb, **arguments})
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None
        return self._answer(verb, arguments, timeout_seconds)

    def _answer(
        self, verb: str, arguments: dict[str, Any], timeout_seconds: float
    ) -> dict[str, Any]:
        while True:
            try:
                line = self._lines.get(timeout=timeout_seconds)
            except queue.Empty:
                raise SourceUnreachable(
                    f"nimbus at {self.address} did not answer {verb!r} within "
                    f"{timeout_seconds:g} s; see whether it is overloaded or stopped"
                ) from None
            if line is None:
                # The end stays the end for whoever asks next.
                self._lines.put(None)
                raise self._gone()
            answer = _parsed(line)
            # An answer that came too late for whoever waited for it is not for us.
            if answer.get("id") in (self._last_id, None):
                break
        if "error" in answer:
            raise self._failure(verb, arguments, answer["error"])
        found = answer.get("ok")
        return found if isinstance(found, dict) else {}

    def _failure(
        self, verb: str, arguments: dict[str, Any], error: dict[str, Any]
    ) -> StreamgaugeError:
        kind, message = error.get("kind"), error.get("message", "")
        if kind == "unreachable":
            return SourceUnreachable(
                f"nimbus at {self.address} does not answer: {message}; "
                "check that it runs and that the address is right"
            )
        if kind == "unknown-topology":
            return InvalidInput.single(
                (),
                seen=f"topology {arguments.get('topology')!r}",
                expected=f"a topology that runs on {self.address}",
                remedy="it may have been killed, or have another name",
            )
        if kind == "refused":
            return InvalidInput.single(
                (), seen=f"nimbus refuses {verb!r}: {message}", expected="a request that it takes"
            )
        return InternalError(f"the bridge to nimbus failed at {verb!r}: {message}")

    def _gone(self) -> SourceUnreachable:
        where = f"; its log is {self._log}" if self._log else ""
        return SourceUnreachable(f"the bridge to nimbus at {self.address} ended by itself{where}")

    def _listen(self, stdout: IO[str]) -> None:
        with suppress(ValueError):
            for line in stdout:
                self._lines.put(line)
        self._lines.put(None)


def _parsed(line: str) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise InternalError(f"the bridge to nimbus answered with no JSON object: {line[:200]!r}")
    return answer
