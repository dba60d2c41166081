"""Prepares what a ``make`` command needs: an environment in ``.venv`` and, on request, Java.

The standard library is enough, and every Python from 3.6 on runs it, so that an old ``python3``
still finds a newer interpreter or says in one line what to install. Safe to run at any time: a
stamp in ``.venv`` tells a finished environment from a missing, outdated, moved or half-made one.
"""

import argparse
import collections
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
from typing import (
    Callable,
    Deque,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

MINIMUM_PYTHON = (3, 11)
PYTHON_NAMES = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")
STAMP_NAME = "streamgauge-setup.json"
LOG_NAME = "streamgauge-setup.log"
TAIL_LINES = 15

VERSION_CODE = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
# The base executable, not a virtual environment's: that environment may be the one to rebuild.
PROBE_CODE = (
    VERSION_CODE
    + "; print(getattr(sys, '_base_executable', None) or sys.executable); import venv, ensurepip"
)

Runner = Callable[[Sequence[str]], Tuple[int, str]]
Which = Callable[[str], Optional[str]]


class SetupError(Exception):
    """What is missing or failed and what to do about it, in one line.

    Args:
        message: That line.
        output: What the failed program printed; its end is shown above the line.
    """

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class Interpreter(NamedTuple):
    """A Python that runs: how to start it, its version, and whether it can make environments."""

    command: str
    version: Tuple[int, ...]
    makes_environments: bool


class PackageManager(NamedTuple):
    """A distribution's installer and its names for what may be missing."""

    command: str
    install: Tuple[str, ...]
    python: str
    venv: str
    jre: Tuple[str, ...]


# Package names take the version with ({0}) or without ({1}) its dot. The second Java package of
# each row is for releases of the distribution that no longer carry the version asked for.
PACKAGE_MANAGERS = (
    PackageManager(
        command="apt-get",
        install=("install", "-y", "--no-install-recommends"),
        python="python{0} python{0}-venv",
        venv="python{0}-venv",
        jre=("openjdk-{0}-jre-headless", "default-jre-headless"),
    ),
    PackageManager(
        command="dnf",
        install=("install", "-y"),
        python="python{0}",
        venv="python{0}",
        jre=("java-{0}-openjdk-headless", "java-latest-openjdk-headless"),
    ),
    PackageManager(
        command="apk",
        install=("add",),
        python="python3",
        venv="python3 py3-pip",
        jre=("openjdk{0}-jre-headless", "openjdk21-jre-headless"),
    ),
    PackageManager(
        command="zypper",
        install=("--non-interactive", "install"),
        python="python{1}",
        venv="python{1}",
        jre=("java-{0}-openjdk-headless", "java-21-openjdk-headless"),
    ),
    PackageManager(
        command="pacman",
        install=("-S", "--noconfirm"),
        python="python",
        venv="python",
        jre=("jre{0}-openjdk-headless", "jre-openjdk-headless"),
    ),
)


def say(message: str) -> None:
    """Writes one line of progress; standard output stays free for the command that follows."""
    sys.stderr.write("setup: " + message + "\n")
    sys.stderr.flush()


def dotted(version: Iterable[int]) -> str:
    """Gives ``3.11`` for ``(3, 11)``."""
    return ".".join(str(part) for part in version)


def clean_environment(environ: Mapping[str, str]) -> Dict[str, str]:
    """Drops the settings that would make pip install outside the environment it runs in."""
    unwanted = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"}
    kept = {name: value for name, value in environ.items() if name not in unwanted}
    kept["PIP_USER"] = "0"
    return kept


def start(command: Sequence[str], folder: Optional[Path] = None) -> "subprocess.Popen[str]":
    """Starts a command without input, whose output of both kinds is read from one pipe."""
    return subprocess.Popen(
        list(command),
        cwd=str(folder) if folder else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=clean_environment(os.environ),
        close_fds=False,
    )


def run(command: Sequence[str]) -> Tuple[int, str]:
    """Runs a command; gives its exit code and all that it printed."""
    try:
        with start(command) as process:
            output, _ = process.communicate()
    except OSError as error:
        return 127, str(error)
    return process.returncode, output


def probe(command: str, runner: Runner) -> Optional[Interpreter]:
    """Starts a Python and asks for its version; None where it does not run."""
    code, output = runner([command, "-c", PROBE_CODE])
    lines = output.splitlines()
    for number, line in enumerate(lines[:-1]):
        if re.match(r"\d+\.\d+\.\d+$", line):
            version = tuple(int(part) for part in line.split("."))
            return Interpreter(lines[number + 1], version, code == 0)
    return None


def choose_interpreter(
    environ: Mapping[str, str], runner: Runner = run, which: Which = shutil.which
) -> Interpreter:
    """Gives the Python to build with: ``$PYTHON`` if set, else the newest known name that works."""
    asked = environ.get("PYTHON")
    found = []
    for name in [asked] if asked else PYTHON_NAMES:
        interpreter = probe(name, runner)
        if interpreter is None:
            continue
        if interpreter.version >= MINIMUM_PYTHON and interpreter.makes_environments:
            return interpreter
        found.append(interpreter)
    raise SetupError(explain_no_interpreter(asked, found, which))


def explain_no_interpreter(asked: Optional[str], found: List[Interpreter], which: Which) -> str:
    """Says in one line why no Python will do, and what to install."""
    manager = find_package_manager(which)
    for interpreter in found:
        if interpreter.version >= MINIMUM_PYTHON:
            version = interpreter.version[:2]
            remedy = "reinstall it with its venv and ensurepip modules"
            if manager:
                remedy = "install it with: " + install_hint(manager, manager.venv, version)
            return "Python {} ({}) lacks venv or ensurepip; {}".format(
                dotted(version), interpreter.command, remedy
            )
    seen = "none"
    if found:
        seen = ", ".join(dotted(each.version) + " (" + each.command + ")" for each in found)
    elif asked:
        seen = "none that runs as PYTHON=" + asked
    remedy = "install one"
    if manager:
        remedy += ", for example: " + install_hint(manager, manager.python, MINIMUM_PYTHON)
    return "needs Python >= {}, found {}; {}, or set PYTHON to its path".format(
        dotted(MINIMUM_PYTHON), seen, remedy
    )


def find_package_manager(which: Which) -> Optional[PackageManager]:
    """Gives the distribution's installer; None on a system without one of the known ones."""
    for manager in PACKAGE_MANAGERS:
        if which(manager.command):
            return manager
    return None


def install_hint(manager: PackageManager, packages: str, version: Iterable[int]) -> str:
    """Gives the command a person types to install the packages."""
    names = package_name(packages, version)
    words = [word for word in manager.install if word != "-y" and not word.startswith("--")]
    return " ".join([manager.command] + words + [names])


def package_name(template: str, version: Iterable[int]) -> str:
    """Fills a version into a package name of the table above."""
    text = dotted(version)
    return template.format(text, text.replace(".", ""))


def environment_python(root: Path) -> Path:
    """Gives the path of the environment's interpreter."""
    return root / ".venv" / "bin" / "python"


def environment_version(root: Path, runner: Runner) -> Optional[str]:
    """Gives ``3.11`` for an environment whose interpreter runs, None for a dead or missing one."""
    python = environment_python(root)
    if not python.exists():
        return None
    code, output = runner([str(python), "-c", VERSION_CODE])
    match = re.match(r"\d+\.\d+", output)
    return match.group(0) if code == 0 and match else None


def inputs_digest(root: Path) -> str:
    """Hashes the files that decide what is installed."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "constraints.txt"):
        content = (root / name).read_bytes()
        digest.update("{} {}\n".format(name, len(content)).encode())
        digest.update(content)
    return digest.hexdigest()


class Stamp(NamedTuple):
    """What a finished environment was made from."""

    checkout: str
    python: str
    inputs: str
    extras: FrozenSet[str]


def read_stamp(root: Path) -> Optional[Stamp]:
    """Gives the stamp of a finished environment; None where there is none or it is unreadable."""
    try:
        fields = json.loads((root / ".venv" / STAMP_NAME).read_text(encoding="utf-8"))
        return Stamp(
            checkout=str(fields["checkout"]),
            python=str(fields["python"]),
            inputs=str(fields["inputs"]),
            extras=frozenset(str(extra) for extra in fields["extras"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_stamp(root: Path, stamp: Stamp) -> None:
    """Marks the environment as finished, in one step."""
    fields = dict(stamp._asdict(), extras=sorted(stamp.extras))
    unfinished = root / ".venv" / (STAMP_NAME + ".new")
    unfinished.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(root / ".venv" / STAMP_NAME)


READY, INSTALL, REBUILD = "ready", "install", "rebuild"


def decide(found: Optional[Stamp], wanted: Stamp) -> str:
    """Compares a stamp with what is wanted.

    An environment made elsewhere or by another Python cannot be mended, and one without a stamp may
    hold half a package: both are rebuilt. Changed inputs and further extras are installed on top.
    """
    if found is None or (found.checkout, found.python) != (wanted.checkout, wanted.python):
        return REBUILD
    if found.inputs != wanted.inputs or not wanted.extras <= found.extras:
        return INSTALL
    return READY


def examine(
    root: Path, extras: FrozenSet[str], python: Optional[str], runner: Runner
) -> Tuple[str, Stamp]:
    """Gives what is to be done and the stamp to write after it.

    Args:
        root: The checkout.
        extras: Extras the command needs.
        python: The version asked for by ``$PYTHON``; None accepts the one that is there.
        runner: Starts the environment's interpreter.
    """
    found = read_stamp(root)
    present = environment_version(root, runner) if found else None
    wanted = Stamp(
        checkout=str(root.resolve()),
        python=python or present or "",
        inputs=inputs_digest(root),
        extras=extras,
    )
    action = decide(found if present else None, wanted)
    if found and action == INSTALL:
        wanted = wanted._replace(extras=extras | found.extras)
    return action, wanted


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


def remove_environment(root: Path) -> None:
    """Removes ``.venv``, be it a folder, a link or a file."""
    path = root / ".venv"
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(str(path))


def create_environment(root: Path, interpreter: Interpreter, runner: Runner) -> None:
    """Makes an empty environment in place of whatever was there."""
    say("creating .venv with Python " + dotted(interpreter.version))
    remove_environment(root)
    code, output = runner([interpreter.command, "-m", "venv", str(root / ".venv")])
    if code != 0:
        raise SetupError(
            interpreter.command + " could not create .venv; run 'make clean' and try again", output
        )


def install_package(root: Path, extras: FrozenSet[str]) -> None:
    """Installs the checkout, editable, with its extras and the pinned versions."""
    target = ".[" + ",".join(sorted(extras)) + "]" if extras else "."
    say("installing " + target.replace(".", "streamgauge", 1) + " (the first time takes a while)")
    command = [str(environment_python(root)), "-m", "pip", "install"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    # Relative, as pip would split or quote some characters of an absolute path.
    command += ["-c", "constraints.txt", "-e", target]
    code, output = run_logged(command, root, root / ".venv" / LOG_NAME)
    if code != 0:
        raise SetupError("pip failed; " + pip_advice(output), output)


def run_logged(command: Sequence[str], folder: Path, log: Path) -> Tuple[int, str]:
    """Runs a command with its output copied to a file; gives the exit code and the last lines."""
    last: Deque[str] = collections.deque(maxlen=200)
    on_terminal = sys.stderr.isatty()
    with log.open("w", encoding="utf-8") as copy, start(command, folder) as process:
        try:
            for line in process.stdout or ():
                copy.write(line)
                last.append(line)
                if on_terminal:
                    sys.stderr.write("\r\033[K  " + line.strip()[:70])
                    sys.stderr.flush()
        except BaseException:
            process.terminate()
            raise
        finally:
            if on_terminal:
                sys.stderr.write("\r\033[K")
    return process.returncode, "".join(last)


def tail(output: str) -> str:
    """Gives the last lines of an output, indented."""
    return "".join("  " + line.rstrip() + "\n" for line in output.splitlines()[-TAIL_LINES:])


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
    root: Path, extras: FrozenSet[str], environ: Mapping[str, str], runner: Runner = run
) -> None:
    """Leaves ``.venv`` with the package and the extras installed; returns at once if it is so."""
    asked = choose_interpreter(environ, runner) if environ.get("PYTHON") else None
    python = dotted(asked.version[:2]) if asked else None
    if examine(root, extras, python, runner)[0] == READY:
        return
    with only_one(root / ".venv.lock"):
        action, wanted = examine(root, extras, python, runner)
        if action == READY:
            return
        started = time.monotonic()
        if action == REBUILD:
            interpreter = asked or choose_interpreter(environ, runner)
            wanted = wanted._replace(python=dotted(interpreter.version[:2]))
            create_environment(root, interpreter, runner)
        else:
            (root / ".venv" / STAMP_NAME).unlink()
        install_package(root, wanted.extras)
        write_stamp(root, wanted)
        say("ready after {:.0f} s".format(time.monotonic() - started))


def java_major(version: str) -> Optional[int]:
    """Gives 8 for ``1.8.0_392``, 17 for ``17.0.15`` and 21 for ``21-ea``."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match.group(1)) if match else None


def java_version(command: str, runner: Runner) -> Optional[int]:
    """Asks a ``java`` for its major version; None where it does not run."""
    code, output = runner([command, "-version"])
    match = re.search(r'version "([^"]+)"', output)
    return java_major(match.group(1)) if code == 0 and match else None


def java_commands(environ: Mapping[str, str]) -> List[str]:
    """Lists where to look for Java, in the order in which Spark looks."""
    home = environ.get("JAVA_HOME")
    return [str(Path(home, "bin", "java")), "java"] if home else ["java"]


def has_java(minimum: int, environ: Mapping[str, str], runner: Runner) -> bool:
    """Tells whether a Java of at least this version is there."""
    for command in java_commands(environ):
        version = java_version(command, runner)
        if version is not None and version >= minimum:
            return True
        if command != "java":
            seen = "Java {}".format(version) if version else "no Java that runs"
            say("JAVA_HOME holds {}, needs >= {}: unset or correct it".format(seen, minimum))
    return False


def jre_commands(manager: PackageManager, minimum: int) -> List[List[str]]:
    """Lists the commands that may install a Java without a display, best first."""
    commands = []
    for template in manager.jre:
        command = [manager.command] + list(manager.install) + [package_name(template, [minimum])]
        if manager.command == "apt-get":
            command = ["env", "DEBIAN_FRONTEND=noninteractive"] + command
        commands.append(command)
    return commands


def ask(question: str) -> bool:
    """Asks on the terminal; no is the default, and the answer where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write("setup: " + question + " [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def ensure_java(
    minimum: int,
    environ: Mapping[str, str],
    runner: Runner = run,
    *,
    which: Which = shutil.which,
    is_root: Optional[bool] = None,
    confirm: Callable[[str], bool] = ask,
) -> None:
    """Leaves a Java of at least this version installed, or says what to install."""
    if has_java(minimum, environ, runner):
        return
    manager = find_package_manager(which)
    if manager is None:
        raise SetupError(
            "needs Java >= {0}, found none; install a Java {0} runtime and put its java on PATH or "
            "set JAVA_HOME".format(minimum)
        )
    wanted = "needs Java >= {}, found none; install it with: {}".format(
        minimum, install_hint(manager, manager.jre[0], [minimum])
    )
    root = os.geteuid() == 0 if is_root is None else is_root
    prefix = [] if root else ["sudo"]
    if not root and not (which("sudo") and confirm("install Java {} now?".format(minimum))):
        raise SetupError(wanted)
    output = install_jre(manager, minimum, prefix, runner)
    if not has_java(minimum, environ, runner):
        raise SetupError(wanted, output)


def install_jre(manager: PackageManager, minimum: int, prefix: List[str], runner: Runner) -> str:
    """Tries the distribution's packages in turn; gives what the last attempt printed."""
    say("installing Java {} with {}".format(minimum, manager.command))
    if manager.command == "apt-get":
        runner(prefix + ["apt-get", "update"])
    output = ""
    for command in jre_commands(manager, minimum):
        code, output = runner(prefix + command)
        if code == 0:
            break
    return output


def parse_arguments(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="setup.py", description="Prepare .venv for a make command."
    )
    parser.add_argument(
        "--extra",
        action="append",
        default=[],
        metavar="NAME",
        help="an extra of pyproject.toml to install as well; may be repeated",
    )
    parser.add_argument(
        "--java", type=int, metavar="N", help="also make sure of a Java of at least this version"
    )
    return parser.parse_args(arguments)


def main(arguments: Optional[Sequence[str]] = None, root: Optional[Path] = None) -> int:
    """Runs the set-up; gives the exit code."""
    options = parse_arguments(arguments)
    checkout = root or Path(__file__).resolve().parent.parent
    try:
        if os.name != "posix":
            raise SetupError("needs Linux, macOS or the Windows Subsystem for Linux")
        if options.java is not None:
            ensure_java(options.java, os.environ)
        ensure_environment(checkout, frozenset(options.extra), os.environ)
    except SetupError as error:
        sys.stderr.write(tail(error.output))
        say(str(error))
        return 1
    except OSError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; run the same command again to finish")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
