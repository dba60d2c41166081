"""The set-up script, with stand-ins for interpreters, pip and package managers: no network."""

import ast
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "setup.py"
setup = SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def answers(**programs):
    """A runner that knows some programs by name and finds no other."""
    return lambda command: programs.get(command[0], (127, "not found"))


def python(version, *, venv=True):
    """What an interpreter answers, with or without its venv module."""
    return int(not venv), f"{version}\n/opt/python{version}\n"


def only(*programs):
    return lambda name: f"/bin/{name}" if name in programs else None


class TestInterpreter:
    def test_the_script_parses_on_old_pythons(self):
        ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 7))

    @pytest.mark.parametrize(
        ("environ", "version"), [({}, "3.12.1"), ({"PYTHON": "mine"}, "3.11.9")]
    )
    def test_the_newest_is_taken_unless_the_variable_python_names_one(self, environ, version):
        programs = {"python3.12": "3.12.1", "python3.11": "3.11.7", "mine": "3.11.9"}
        runner = answers(**{name: python(each) for name, each in programs.items()})
        assert setup.choose_interpreter(environ, runner).command == f"/opt/python{version}"

    def test_one_without_venv_is_passed_over_for_an_older_one_with_it(self):
        programs = {"python3.12": python("3.12.1", venv=False), "python3.11": python("3.11.7")}
        assert setup.choose_interpreter({}, answers(**programs)).version == (3, 11, 7)

    @pytest.mark.parametrize(
        ("environ", "message"),
        [
            ({}, r"needs Python >= 3.11, found 3.8.18 \(/opt/.*\); .* python3.11 python3.11-venv"),
            ({"PYTHON": "/gone"}, "PYTHON=/gone"),
        ],
    )
    def test_what_is_not_good_enough_is_named(self, environ, message):
        with pytest.raises(setup.SetupError, match=message):
            setup.choose_interpreter(environ, answers(python3=python("3.8.18")), only("apt-get"))

    @pytest.mark.parametrize(
        ("manager", "advice"),
        [
            ("apt-get", "apt-get install python3.12 python3.12-venv"),
            ("dnf", "dnf install python3.12"),
            ("apk", "apk add python3 py3-pip"),
            ("zypper", "zypper install python312"),
            ("pacman", "pacman -S python"),
            ("none", "install one with its venv and ensurepip modules"),
        ],
    )
    def test_missing_venv_names_the_package(self, manager, advice):
        with pytest.raises(setup.SetupError) as caught:
            runner = answers(python3=python("3.12.1", venv=False))
            setup.choose_interpreter({}, runner, only(manager))
        assert "3.12 (/opt/python3.12.1) lacks venv or ensurepip" in str(caught.value)
        assert f"{advice}, or set PYTHON" in str(caught.value)


FAKE_PYTHON = """#!/bin/sh
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip") echo "$*" >> "$CALLS"; eval "$PIP" ;;
  *) echo 3.11.9; echo "$0" ;;
esac
"""
# A test run in the background ignores interrupts, and its children would too.
INTERRUPTIBLE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Checkout:
    """A copy of the script beside inputs of its own, and a PATH with nothing but stand-ins."""

    def __init__(self, folder):
        self.root, self.programs = folder / "a checkout", folder / "programs"
        self.calls = self.programs / "calls"
        (self.root / "scripts").mkdir(parents=True)
        self.programs.mkdir()
        shutil.copy(SCRIPT, self.root / "scripts" / "setup.py")
        (self.root / "pyproject.toml").write_text("[project]\n")
        (self.root / "constraints.txt").write_text("")
        for tool in ("mkdir", "cp", "sleep", "kill"):
            if shutil.which(tool):
                (self.programs / tool).symlink_to(shutil.which(tool))
        self.add_program("python3.11", FAKE_PYTHON)

    @property
    def stamp(self):
        return setup.read_stamp(self.root)

    def add_program(self, name, text):
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def start(self, *arguments, pip="true"):
        script = str(self.root / "scripts" / "setup.py")
        return subprocess.Popen(
            [sys.executable, "-c", INTERRUPTIBLE, script, *arguments],
            env={"PATH": str(self.programs), "CALLS": str(self.calls), "PIP": pip},
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments, pip="true"):
        with self.start(*arguments, pip=pip) as process:
            _, errors = process.communicate()
        return process.returncode, errors

    def pip_calls(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


class TestEnvironment:
    def test_another_python_needs_another_environment(self):
        stamp = {"checkout": "/a", "python": "3.11", "inputs": "x", "extras": []}
        assert setup.decide(stamp, stamp) == "ready"
        assert setup.decide(stamp, dict(stamp, python="3.12")) == "rebuild"

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"checkout": "/a"}', "null"])
    def test_a_damaged_stamp_is_as_good_as_none(self, tmp_path, content):
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / setup.STAMP_NAME).write_text(content)
        assert setup.read_stamp(tmp_path) == {}

    def test_the_first_run_installs_editable_with_the_pinned_versions(self, checkout):
        assert checkout.run("--extra", "test")[0] == 0
        assert checkout.pip_calls()[0].endswith("-c constraints.txt -e .[test]")

    def test_the_second_run_is_silent_and_starts_no_pip(self, checkout):
        checkout.run()
        assert checkout.run() == (0, "")
        assert len(checkout.pip_calls()) == 1

    def test_extras_add_up_over_the_commands(self, checkout):
        checkout.run("--extra", "test")
        checkout.run("--extra", "lint")
        checkout.run()
        assert checkout.stamp["extras"] == ["lint", "test"]
        assert len(checkout.pip_calls()) == 2

    @pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
    def test_changed_inputs_are_installed(self, checkout, name):
        checkout.run("--extra", "test")
        (checkout.root / name).write_text("numpy==2.0.0\n")
        assert "creating" not in checkout.run()[1]
        assert checkout.pip_calls()[1].endswith("-e .[test]")

    def test_a_moved_checkout_gets_a_new_environment(self, checkout):
        checkout.run()
        checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
        assert "creating .venv" in checkout.run()[1]

    def test_a_dead_interpreter_is_replaced(self, checkout):
        checkout.run()
        python = checkout.root / ".venv" / "bin" / "python"
        python.unlink()
        python.symlink_to(checkout.root / "gone")
        assert "creating .venv" in checkout.run()[1]
        assert checkout.run() == (0, "")

    @pytest.mark.parametrize(
        ("pip", "code", "last_words"),
        [
            ("echo ERROR: No matching distribution; exit 3", 1, "check pip's settings\n"),
            ("kill -2 $PPID; exec sleep 60", 130, "run the same command again to finish\n"),
            ("kill -9 $PPID", -signal.SIGKILL, "(the first time takes a while)\n"),
        ],
    )
    def test_a_set_up_that_does_not_end_well_is_completed_by_the_next(
        self, checkout, pip, code, last_words
    ):
        ended, errors = checkout.run("--extra", "test", pip=pip)
        assert (ended, checkout.stamp) == (code, {})
        assert errors.endswith(last_words)
        assert "Traceback" not in errors
        assert ("ERROR" in pip) is ("  ERROR: No matching distribution\n" in errors)
        assert checkout.run("--extra", "test")[0] == 0
        assert checkout.stamp["extras"] == ["test"]

    def test_a_set_up_interrupted_while_adding_extras_is_not_ready(self, checkout):
        checkout.run()
        checkout.run("--extra", "test", pip="kill -9 $PPID")
        assert "creating .venv" in checkout.run()[1]

    def test_two_at_once_install_once(self, checkout):
        slow = 'while [ ! -e "$CALLS.go" ]; do sleep 0.01; done'
        first = checkout.start(pip=slow)
        while not checkout.pip_calls() and first.poll() is None:
            time.sleep(0.01)
        second = checkout.start(pip=slow)
        assert "waiting for another set-up" in second.stderr.readline()
        checkout.calls.with_name("calls.go").touch()
        first.communicate()
        second.communicate()
        assert (first.returncode, second.returncode) == (0, 0)
        assert len(checkout.pip_calls()) == 1

    def test_the_missing_package_is_named_on_one_line(self, checkout):
        checkout.add_program("python3.11", "#!/bin/sh\necho 3.11.2\necho $0\nexit 1\n")
        checkout.add_program("apt-get", "#!/bin/sh\n")
        code, errors = checkout.run()
        assert code == 1
        assert "python3.11-venv" in errors
        assert errors.count("\n") == 1

    def test_settings_that_move_an_installation_elsewhere_are_dropped(self):
        environ = {"PYTHONPATH": "/x", "PIP_TARGET": "/y", "PIP_USER": "1", "HOME": "/h"}
        assert setup.clean_environment(environ) == {"PIP_USER": "0", "HOME": "/h"}

    @pytest.mark.parametrize(
        ("output", "advice"),
        [
            ("OSError: [Errno 28] No space left on device", "disk space"),
            ("Temporary failure in name resolution", "check the network"),
            ("ERROR: something else", setup.LOG_NAME),
        ],
    )
    def test_advice_follows_what_pip_said(self, output, advice):
        assert advice in setup.pip_advice(output)


def java_says(version):
    return 0, f'openjdk version "{version}" 2025-04-15\nOpenJDK Runtime Environment\n'


class Machine:
    """A machine without Java where one package, once installed, brings it."""

    def __init__(self, package):
        self.package = package
        self.commands = []

    def __call__(self, command):
        if command[-1] == "-version":
            installed = any(self.package in each for each in self.commands)
            return java_says("17.0.15") if installed else (127, "not found")
        self.commands.append(list(command))
        return (0, "") if self.package in command or "update" in command else (100, "no package")

    def ensure_java(self, *programs, user=0):
        setup.ensure_java(17, {}, self, only(*programs), lambda: user)


class TestJava:
    @pytest.mark.parametrize(
        ("version", "enough"),
        [("1.8.0_392", False), ("11.0.2", False), ("17.0.15", True), ("21-ea", True), ("?", False)],
    )
    def test_at_least_the_java_asked_for(self, version, enough):
        assert setup.has_java(17, {}, answers(java=java_says(version))) is enough

    def test_an_old_java_home_is_told_even_if_the_path_has_a_newer_one(self, capsys):
        runner = answers(**{"/jdk/bin/java": java_says("1.8.0_392"), "java": java_says("21.0.1")})
        assert setup.has_java(17, {"JAVA_HOME": "/jdk"}, runner)
        assert "JAVA_HOME holds Java 8" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("name", "command"),
        [
            ("dnf", "dnf install -y java-17-openjdk-headless"),
            ("apk", "apk add openjdk17-jre-headless"),
            ("zypper", "zypper --non-interactive install java-17-openjdk-headless"),
            ("pacman", "pacman -S --noconfirm jre17-openjdk-headless"),
            (
                "apt-get",
                "env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "
                "openjdk-17-jre-headless",
            ),
        ],
    )
    def test_each_package_manager_has_its_command(self, name, command):
        first, _ = setup.find_package_manager(only(name)).jre_commands(17)
        assert " ".join(first) == command

    @pytest.mark.parametrize("package", ["openjdk-17-jre-headless", "default-jre-headless"])
    def test_root_installs_the_version_asked_for_or_else_the_default(self, package):
        machine = Machine(package)
        machine.ensure_java("apt-get")
        assert machine.commands[0] == ["apt-get", "update"]
        assert machine.commands[-1][-1] == package

    def test_who_is_not_root_is_told_what_to_install(self):
        machine = Machine("java-17-openjdk-headless")
        with pytest.raises(setup.SetupError, match="dnf install java-17-openjdk-headless"):
            machine.ensure_java("dnf", user=1000)
        assert machine.commands == []

    def test_a_system_without_a_known_manager_is_told_what_to_install(self):
        with pytest.raises(setup.SetupError, match="set JAVA_HOME"):
            Machine("nothing").ensure_java()

    def test_an_installation_that_brings_no_java_is_an_error(self):
        with pytest.raises(setup.SetupError) as caught:
            Machine("nothing").ensure_java("apk")
        assert caught.value.output == "no package"
