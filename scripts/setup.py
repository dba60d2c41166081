"""Prepares what a ``make`` command needs: an environment in ``.venv`` and, on request, Java.

The standard library is enough, and every Python from 3.6 on runs it, so that an old ``python3``
still finds a newer interpreter or says in one line what to install. Safe to run at any time: a
stamp in ``.venv`` tells a finished environment from a missing, outdated, moved or half-made one.
"""

import argparse
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

MINIMUM_PYTHON = (3, 11)
PYTHON_NAMES = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")
STAMP_NAME = "streamgauge-setup.json"
LOG_NAME = "streamgauge-setup.log"
TAIL_LINES = 15
# The base executable, not a virtual environment's: that environment may be the one to rebuild.
PROBE_CODE = (
    "import sys; print('%d.%d.%d' % sys.version_info[:3]); "
    "print(getattr(sys, '_base_executable', None) or sys.executable); import venv, ensurepip"
)

Runner = Callable[[Sequence[str]], Tuple[int, str]]
Which = Callable[[str], Optional[str]]
Stamp = Dict[str, Any]


class SetupError(Exception):
    """One line on what is missing or failed and what to do; and what a failed program printed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class Interpreter(NamedTuple):
    """A Python that runs: how to start it, its version, and whether it can make environments."""

    command: str
    version: Tuple[int, ...]
    makes_environments: bool

    @property
    def minor(self) -> str:
        """``3.11`` for a Python 3.11.9."""
        return dotted(self.version[:2])


class PackageManager(NamedTuple):
    """A distribution's installer and its names for what may be missing.

    Names take the version with ({0}) or without ({1}) its dot. The second Java package is for
    releases of the distribution that no longer carry the version asked for.
    """

    install: str
    python: str
    jre: Tuple[str, str]

    @property
    def name(self) -> str:
        """The program."""
        return self.install.split()[0]

    def hint(self, packages: str, version: str) -> str:
        """The command that a person types to install packages."""
        words = [word for word in self.install.split() if word != "-y" and word[:2] != "--"]
        return " ".join(words + [packages.format(version, version.replace(".", ""))])

    def jre_commands(self, version: int) -> Iterator[Sequence[str]]:
        """The commands that may install a Java without a display, best first."""
        prefix = ["env", "DEBIAN_FRONTEND=noninteractive"] if self.name == "apt-get" else []
        for package in self.jre:
            yield prefix + self.install.split() + [package.format(version)]


PACKAGE_MANAGERS = (
    PackageManager(
        install="apt-get install -y --no-install-recommends",
        python="python{0} python{0}-venv",
        jre=("openjdk-{0}-jre-headless", "default-jre-headless"),
    ),
    PackageManager(
        install="dnf install -y",
        python="python{0}",
        jre=("java-{0}-openjdk-headless", "java-latest-openjdk-headless"),
    ),
    PackageManager(
        install="apk add",
        python="python3 py3-pip",
        jre=("openjdk{0}-jre-headless", "openjdk21-jre-headless"),
    ),
    PackageManager(
        install="zypper --non-interactive install",
        python="python{1}",
        jre=("java-{0}-openjdk-headless", "java-21-openjdk-headless"),
    ),
    PackageManager(
        install="pacman -S --noconfirm",
        python="python",
        jre=("jre{0}-openjdk-headless", "jre-openjdk-headless"),
    ),
)


def find_package_manager(which: Which) -> Optional[PackageManager]:
    """Gives the distribution's installer; None on a system without one of the known ones."""
    return next((manager for manager in PACKAGE_MANAGERS if which(manager.name)), None)


def say(message: str) -> None:
    """Writes one line of progress; standard output stays free for the command that follows."""
    sys.stderr.write("setup: " + message + "\n")
    sys.stderr.flush()


def dotted(version: Sequence[int]) -> str:
    """Gives ``3.11`` for ``(3, 11)``."""
    return ".".join(str(part) for part in version)


def clean_environment(environ: Mapping[str, str]) -> Dict[str, str]:
    """Drops the settings that would make pip install outside the environment it runs in."""
    unwanted = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"}
    kept = {name: value for name, value in environ.items() if name not in unwanted}
    return dict(kept, PIP_USER="0")


def run(command: Sequence[str], root: Optional[Path] = None) -> Tuple[int, str]:
    """Runs a command without input; gives its exit code and all that it printed.

    With a checkout it runs there, and its output is copied to a log and shown on a terminal.
    """
    lines = []
    on_terminal = root is not None and sys.stderr.isatty()
    log = root / ".venv" / LOG_NAME if root else Path(os.devnull)
    try:
        process = subprocess.Popen(
            list(command),
            cwd=str(root or Path.cwd()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=clean_environment(os.environ),
            close_fds=False,
        )
    except OSError as error:
        return 127, str(error)
    with process, log.open("w", encoding="utf-8") as copy:
        try:
            for line in process.stdout or ():
                copy.write(line)
                lines.append(line)
                if on_terminal:
                    sys.stderr.write("\r\033[K  " + line.strip()[:70])
                    sys.stderr.flush()
        except BaseException:
            process.terminate()
            raise
        finally:
            if on_terminal:
                sys.stderr.write("\r\033[K")
    return process.returncode, "".join(lines)


def probe(command: str, runner: Runner) -> Optional[Interpreter]:
    """Starts a Python and asks for its version; None where it does not run."""
    code, output = runner([command, "-c", PROBE_CODE])
    match = re.search(r"^(\d+)\.(\d+)\.(\d+)\n(.+)$", output, re.MULTILINE)
    if match is None:
        return None
    version = tuple(int(part) for part in match.groups()[:3])
    return Interpreter(match.group(4), version, makes_environments=code == 0)


def choose_interpreter(
    environ: Mapping[str, str], runner: Runner = run, which: Which = shutil.which
) -> Interpreter:
    """Gives the Python to build with: ``$PYTHON`` if set, else the newest known name that works."""
    asked = environ.get("PYTHON")
    known = [probe(name, runner) for name in ([asked] if asked else PYTHON_NAMES)]
    running = [interpreter for interpreter in known if interpreter]
    recent = [interpreter for interpreter in running if interpreter.version >= MINIMUM_PYTHON]
    for interpreter in recent:
        if interpreter.makes_environments:
            return interpreter
    version = recent[0].minor if recent else dotted(MINIMUM_PYTHON)
    if recent:
        fault = "Python {} ({}) lacks venv or ensurepip".format(version, recent[0].command)
    else:
        seen = ", ".join("{} ({})".format(dotted(one.version), one.command) for one in running)
        nothing = "none that runs as PYTHON=" + asked if asked else "none"
        fault = "needs Python >= {}, found {}".format(version, seen or nothing)
    manager = find_package_manager(which)
    remedy = "install one with its venv and ensurepip modules"
    if manager:
        remedy = "install it with: " + manager.hint(manager.python, version)
    raise SetupError(fault + "; " + remedy + ", or set PYTHON to the path of another")


def inputs_digest(root: Path) -> str:
    """Hashes the files that decide what is installed."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "constraints.txt"):
        content = (root / name).read_bytes()
        digest.update("{} {}\n".format(name, len(content)).encode() + content)
    return digest.hexdigest()


def read_stamp(root: Path) -> Stamp:
    """Gives what a finished environment was made from; nothing if it is missing or unreadable."""
    try:
        stamp = json.loads((root / ".venv" / STAMP_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(stamp, dict) and isinstance(stamp.get("extras"), list)
    return stamp if whole else {}


def write_stamp(root: Path, stamp: Stamp) -> None:
    """Marks the environment as finished, in one step."""
    unfinished = root / ".venv" / (STAMP_NAME + ".new")
    unfinished.write_text(json.dumps(stamp, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(root / ".venv" / STAMP_NAME)


READY, INSTALL, REBUILD = "ready", "install", "rebuild"


def decide(stamp: Stamp, target: Stamp) -> str:
    """Compares the stamp of an environment with that of the one to have.

    An environment made elsewhere or by another Python cannot be mended, and one without a stamp may
    hold half a package: both are rebuilt. Changed inputs and further extras are installed on top.
    """
    if any(stamp.get(key) != target[key] for key in ("checkout", "python")):
        return REBUILD
    if stamp.get("inputs") != target["inputs"] or not set(target["extras"]) <= set(stamp["extras"]):
        return INSTALL
    return READY


def examine(root: Path, extras: Sequence[str], python: str, runner: Runner) -> Tuple[str, Stamp]:
    """Gives what is to be done and the stamp to write after it.

    Without a version asked for by ``$PYTHON``, the one of the environment is good enough.
    """
    present = probe(str(root / ".venv" / "bin" / "python"), runner)
    stamp = read_stamp(root) if present else {}
    target = {
        "checkout": str(root.resolve()),
        "python": python or (present.minor if present else ""),
        "inputs": inputs_digest(root),
        "extras": sorted(extras),
    }
    action = decide(stamp, target)
    if action == INSTALL:
        target["extras"] = sorted(set(extras) | set(stamp["extras"]))
    return action, target


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Lets one set-up of a checkout work at a time.

    Children inherit the lock: when this process is killed, the next one waits for an orphaned pip.
    """
    import fcntl  # absent on Windows, where main() has said so by now

    with path.open("a") as handle:
        os.set_inheritable(handle.fileno(), True)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Other errors mean a file system without locks: go on without one.
            if error.errno in (errno.EAGAIN, errno.EACCES):
                say("waiting for another set-up of this checkout to finish")
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def create_environment(root: Path, interpreter: Interpreter, runner: Runner) -> None:
    """Makes an empty environment in place of a folder, a link or a file."""
    say("creating .venv with Python " + dotted(interpreter.version))
    path = root / ".venv"
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(str(path))
    code, output = runner([interpreter.command, "-m", "venv", str(path)])
    if code != 0:
        remedy = " could not create .venv; run 'make clean' and try again"
        raise SetupError(interpreter.command + remedy, output)


def install_package(root: Path, extras: Sequence[str]) -> None:
    """Installs the checkout, editable, with its extras and the pinned versions."""
    target = ".[" + ",".join(extras) + "]" if extras else "."
    say("installing " + target.replace(".", "streamgauge", 1) + " (the first time takes a while)")
    command = [str(root / ".venv" / "bin" / "python"), "-m", "pip", "install"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    # Relative, as pip would split or quote some characters of an absolute path.
    command += ["-c", "constraints.txt", "-e", target]
    code, output = run(command, root)
    if code != 0:
        raise SetupError("pip failed; " + pip_advice(output), output)


def pip_advice(output: str) -> str:
    """Gives what to do about a failed installation, from what pip printed."""
    if "No space left on device" in output:
        return "free some disk space and run again"
    if re.search(r"NewConnectionError|name resolution|timed out|ProxyError|SSLError", output):
        return "check the network and pip's index and proxy settings, then run again"
    if "No matching distribution" in output or "ResolutionImpossible" in output:
        return "its index cannot be reached or lacks a pinned version; check pip's settings"
    return "the whole output is in .venv/" + LOG_NAME + "; run again once the cause is removed"


def ensure_environment(
    root: Path, extras: Sequence[str], environ: Mapping[str, str], runner: Runner = run
) -> None:
    """Leaves ``.venv`` with the package and the extras installed; returns at once if it is so."""
    asked = choose_interpreter(environ, runner) if environ.get("PYTHON") else None
    python = asked.minor if asked else ""
    if examine(root, extras, python, runner)[0] == READY:
        return
    with only_one(root / ".venv.lock"):
        action, target = examine(root, extras, python, runner)
        if action == READY:
            return
        started = time.monotonic()
        if action == REBUILD:
            interpreter = asked or choose_interpreter(environ, runner)
            create_environment(root, interpreter, runner)
            target["python"] = interpreter.minor
        else:
            (root / ".venv" / STAMP_NAME).unlink()
        install_package(root, target["extras"])
        write_stamp(root, target)
        say("ready after {:.0f} s".format(time.monotonic() - started))


def java_version(command: str, runner: Runner) -> int:
    """Asks a ``java`` for its version, 8 for ``1.8.0_392``; zero where it does not run."""
    code, output = runner([command, "-version"])
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if code == 0 and match else 0


def has_java(minimum: int, environ: Mapping[str, str], runner: Runner) -> bool:
    """Tells whether a Java of at least this version is where Spark looks for one."""
    home = environ.get("JAVA_HOME")
    if home:
        version = java_version(str(Path(home, "bin", "java")), runner)
        if version >= minimum:
            return True
        seen = "Java {}".format(version) if version else "no Java that runs"
        say("JAVA_HOME holds {}, needs >= {}: unset or correct it".format(seen, minimum))
    return java_version("java", runner) >= minimum


def ensure_java(
    minimum: int,
    environ: Mapping[str, str],
    runner: Runner = run,
    which: Which = shutil.which,
    user: Callable[[], int] = os.geteuid,
) -> None:
    """Leaves a Java of at least this version; only root installs one, others are told how to."""
    if has_java(minimum, environ, runner):
        return
    missing = "needs Java >= {}, found none; ".format(minimum)
    manager = find_package_manager(which)
    if manager is None:
        remedy = "install a Java {} runtime and put its java on PATH or set JAVA_HOME"
        raise SetupError(missing + remedy.format(minimum))
    missing += "install it with: " + manager.hint(manager.jre[0], str(minimum))
    if user() != 0:
        raise SetupError(missing)
    say("installing Java {} with {}".format(minimum, manager.name))
    if manager.name == "apt-get":
        runner(["apt-get", "update"])
    for command in manager.jre_commands(minimum):
        code, output = runner(command)
        if code == 0:
            break
    if not has_java(minimum, environ, runner):
        raise SetupError(missing, output)


def main(arguments: Optional[Sequence[str]] = None, root: Optional[Path] = None) -> int:
    """Runs the set-up; gives the exit code."""
    parser = argparse.ArgumentParser(prog="setup.py", description="Prepare .venv for make.")
    text = "an extra of pyproject.toml to install as well; may be repeated"
    parser.add_argument("--extra", action="append", default=[], metavar="NAME", help=text)
    text = "also make sure of a Java of at least this version"
    parser.add_argument("--java", type=int, metavar="N", help=text)
    options = parser.parse_args(arguments)
    checkout = root or Path(__file__).resolve().parent.parent
    try:
        if os.name != "posix":
            raise SetupError("needs Linux, macOS or the Windows Subsystem for Linux")
        if options.java is not None:
            ensure_java(options.java, os.environ)
        ensure_environment(checkout, options.extra, os.environ)
    except (SetupError, OSError) as error:
        for line in getattr(error, "output", "").splitlines()[-TAIL_LINES:]:
            sys.stderr.write("  " + line.rstrip() + "\n")
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; run the same command again to finish")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
