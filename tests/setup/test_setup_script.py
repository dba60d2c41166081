"""The set-up script, with stand-ins for interpreters, pip and package managers: no network."""

import ast
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "setup.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


setup = load_script()

Runner = Callable[[Sequence[str]], tuple[int, str]]


def answers(table: Mapping[str, tuple[int, str]]) -> Runner:
    """A runner that knows some programs by name and finds no other."""
    return lambda command: table.get(command[0], (127, "not found"))


def only(*programs: str) -> Callable[[str], str | None]:
    return lambda name: f"/bin/{name}" if name in programs else None


class TestInterpreter:
    def test_the_script_parses_on_old_pythons(self) -> None:
        ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 7))

    def test_the_newest_known_name_that_runs_is_taken(self) -> None:
        runner = answers(
            {
                "python3.13": (127, "shim: python3.13 is not selected"),
                "python3.12": (0, "3.12.1\n/opt/python3.12\n"),
                "python3.11": (0, "3.11.7\n/opt/python3.11\n"),
            }
        )
        assert setup.choose_interpreter({}, runner).command == "/opt/python3.12"

    def test_one_without_venv_is_passed_over_for_an_older_one_with_it(self) -> None:
        runner = answers(
            {
                "python3.12": (1, "3.12.1\n/opt/python3.12\nno module named ensurepip"),
                "python3.11": (0, "3.11.7\n/opt/python3.11\n"),
            }
        )
        assert setup.choose_interpreter({}, runner).command == "/opt/python3.11"

    def test_the_variable_python_alone_decides(self) -> None:
        runner = answers({"mine": (0, "3.11.7\n/opt/mine\n"), "python3.14": (0, "3.14.0\n/p\n")})
        assert setup.choose_interpreter({"PYTHON": "mine"}, runner).command == "/opt/mine"

    def test_an_old_python_is_named_with_its_version(self) -> None:
        runner = answers({"python3": (1, "3.8.18\n/usr/bin/python3\n")})
        with pytest.raises(setup.SetupError) as caught:
            setup.choose_interpreter({}, runner, only("apt-get"))
        assert "needs Python >= 3.11, found 3.8.18 (/usr/bin/python3)" in str(caught.value)
        assert "python3.11 python3.11-venv" in str(caught.value)

    def test_a_wrong_variable_python_is_named(self) -> None:
        with pytest.raises(setup.SetupError, match="PYTHON=/gone"):
            setup.choose_interpreter({"PYTHON": "/gone"}, answers({}), only())

    @pytest.mark.parametrize(
        ("manager", "advice"),
        [
            ("apt-get", "apt-get install python3.12-venv"),
            ("dnf", "dnf install python3.12"),
            ("apk", "apk add python3 py3-pip"),
            ("zypper", "zypper install python312"),
            ("pacman", "pacman -S python"),
            ("none", "reinstall it with its venv and ensurepip modules"),
        ],
    )
    def test_missing_venv_names_the_package(self, manager: str, advice: str) -> None:
        runner = answers({"python3.12": (1, "3.12.1\n/usr/bin/python3.12\nno ensurepip")})
        with pytest.raises(setup.SetupError) as caught:
            setup.choose_interpreter({}, runner, only(manager))
        assert "lacks venv or ensurepip" in str(caught.value)
        assert str(caught.value).endswith(advice)
        assert "\n" not in str(caught.value)


def stamp(**changes: object) -> object:
    made = setup.Stamp(checkout="/a", python="3.11", inputs="x", extras=frozenset({"test"}))
    return made._replace(**changes)


class TestStamp:
    @pytest.mark.parametrize(
        ("found", "wanted", "action"),
        [
            (None, stamp(), "rebuild"),
            (stamp(), stamp(), "ready"),
            (stamp(), stamp(extras=frozenset()), "ready"),
            (stamp(), stamp(extras=frozenset({"test", "lint"})), "install"),
            (stamp(), stamp(inputs="y"), "install"),
            (stamp(), stamp(python="3.12"), "rebuild"),
            (stamp(), stamp(checkout="/b"), "rebuild"),
        ],
    )
    def test_decides_what_is_to_be_done(self, found: object, wanted: object, action: str) -> None:
        assert setup.decide(found, wanted) == action

    def test_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        (tmp_path / ".venv").mkdir()
        setup.write_stamp(tmp_path, stamp())
        assert setup.read_stamp(tmp_path) == stamp()

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"checkout": "/a"}', "null"])
    def test_damaged_is_as_good_as_none(self, tmp_path: Path, content: str) -> None:
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / setup.STAMP_NAME).write_text(content)
        assert setup.read_stamp(tmp_path) is None

    @pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
    def test_digest_follows_the_content_of_its_files(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "pyproject.toml").write_text("a")
        (tmp_path / "constraints.txt").write_text("b")
        before = setup.inputs_digest(tmp_path)
        (tmp_path / name).write_text("c")
        assert setup.inputs_digest(tmp_path) != before


FAKE_PYTHON = """#!/bin/sh
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip") echo "$*" >> "$CALLS"; eval "$PIP" ;;
  *) echo 3.11.9; echo "$0" ;;
esac
"""


class Checkout:
    """A copy of the script beside inputs of its own, and a PATH with nothing but stand-ins."""

    def __init__(self, root: Path, programs: Path) -> None:
        self.root = root
        self.programs = programs
        self.calls = programs / "calls"
        (root / "scripts").mkdir(parents=True)
        programs.mkdir()
        shutil.copy(SCRIPT, root / "scripts" / "setup.py")
        (root / "pyproject.toml").write_text("[project]\n")
        (root / "constraints.txt").write_text("")
        for tool in ("mkdir", "cp", "sleep", "kill"):
            found = shutil.which(tool)
            if found:
                (programs / tool).symlink_to(found)
        self.add_program("python3.11", FAKE_PYTHON)

    def add_program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def start(self, *arguments: str, pip: str = "true") -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                INTERRUPTIBLE,
                str(self.root / "scripts" / "setup.py"),
                *arguments,
            ],
            env={"PATH": str(self.programs), "CALLS": str(self.calls), "PIP": pip},
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, pip: str = "true") -> tuple[int, str]:
        with self.start(*arguments, pip=pip) as process:
            _, errors = process.communicate()
        return process.returncode, errors

    def pip_calls(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def extras(self) -> list[str]:
        content = (self.root / ".venv" / setup.STAMP_NAME).read_text()
        return list(json.loads(content)["extras"])


# A test run in the background ignores interrupts, and its children would too.
INTERRUPTIBLE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "a checkout", tmp_path / "programs")


class TestEnvironment:
    def test_the_first_run_installs_editable_with_the_pinned_versions(
        self, checkout: Checkout
    ) -> None:
        assert checkout.run("--extra", "test")[0] == 0
        assert checkout.pip_calls()[0].endswith("-c constraints.txt -e .[test]")

    def test_the_second_run_is_silent_and_starts_no_pip(self, checkout: Checkout) -> None:
        checkout.run()
        assert checkout.run() == (0, "")
        assert len(checkout.pip_calls()) == 1

    def test_extras_add_up_over_the_commands(self, checkout: Checkout) -> None:
        checkout.run("--extra", "test")
        checkout.run("--extra", "lint")
        checkout.run()
        assert checkout.extras() == ["lint", "test"]
        assert len(checkout.pip_calls()) == 2

    def test_changed_constraints_are_installed(self, checkout: Checkout) -> None:
        checkout.run("--extra", "test")
        (checkout.root / "constraints.txt").write_text("numpy==2.0.0\n")
        _, errors = checkout.run()
        assert "creating" not in errors
        assert checkout.pip_calls()[1].endswith("-e .[test]")

    def test_a_moved_checkout_gets_a_new_environment(self, checkout: Checkout) -> None:
        checkout.run()
        checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
        assert "creating .venv" in checkout.run()[1]

    def test_a_dead_interpreter_is_replaced(self, checkout: Checkout) -> None:
        checkout.run()
        python = checkout.root / ".venv" / "bin" / "python"
        python.unlink()
        python.symlink_to(checkout.root / "gone")
        assert "creating .venv" in checkout.run()[1]
        assert checkout.run() == (0, "")

    def test_a_failing_pip_shows_its_last_words_and_leaves_no_stamp(
        self, checkout: Checkout
    ) -> None:
        code, errors = checkout.run(pip="echo ERROR: No matching distribution found; exit 3")
        assert code == 1
        assert "ERROR: No matching distribution found" in errors
        assert errors.endswith("check pip's settings\n")
        assert "Traceback" not in errors
        assert checkout.run()[0] == 0
        assert len(checkout.pip_calls()) == 2

    def test_a_killed_set_up_is_completed_by_the_next(self, checkout: Checkout) -> None:
        code, _ = checkout.run("--extra", "test", pip="kill -9 $PPID")
        assert code == -signal.SIGKILL
        assert not (checkout.root / ".venv" / setup.STAMP_NAME).exists()
        assert checkout.run("--extra", "test")[0] == 0
        assert checkout.extras() == ["test"]

    def test_an_interrupted_set_up_ends_with_130_and_a_line(self, checkout: Checkout) -> None:
        code, errors = checkout.run(pip="kill -2 $PPID; exec sleep 60")
        assert code == 130
        assert errors.endswith("run the same command again to finish\n")
        assert not (checkout.root / ".venv" / setup.STAMP_NAME).exists()

    def test_a_set_up_interrupted_while_adding_extras_is_not_ready(
        self, checkout: Checkout
    ) -> None:
        checkout.run()
        checkout.run("--extra", "test", pip="kill -9 $PPID")
        assert "creating .venv" in checkout.run()[1]

    def test_two_at_once_install_once(self, checkout: Checkout) -> None:
        slow = 'while [ ! -e "$CALLS.go" ]; do sleep 0.01; done'
        first = checkout.start(pip=slow)
        while not checkout.pip_calls() and first.poll() is None:
            time.sleep(0.01)
        second = checkout.start(pip=slow)
        assert second.stderr is not None
        assert "waiting for another set-up" in second.stderr.readline()
        checkout.calls.with_name("calls.go").touch()
        first.communicate()
        second.communicate()
        assert (first.returncode, second.returncode) == (0, 0)
        assert len(checkout.pip_calls()) == 1

    def test_the_missing_package_is_named_on_one_line(self, checkout: Checkout) -> None:
        checkout.add_program("python3.11", "#!/bin/sh\necho 3.11.2\necho $0\nexit 1\n")
        checkout.add_program("apt-get", "#!/bin/sh\n")
        code, errors = checkout.run()
        assert code == 1
        assert "python3.11-venv" in errors
        assert errors.count("\n") == 1

    def test_settings_that_move_an_installation_elsewhere_are_dropped(self) -> None:
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
    def test_advice_follows_what_pip_said(self, output: str, advice: str) -> None:
        assert advice in setup.pip_advice(output)


def java_says(version: str) -> tuple[int, str]:
    return 0, f'openjdk version "{version}" 2025-04-15\nOpenJDK Runtime Environment\n'


class Machine:
    """A machine without Java where one package, once installed, brings it."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> tuple[int, str]:
        if command[-1] == "-version":
            installed = any(self.package in each for each in self.commands)
            return java_says("17.0.15") if installed else (127, "not found")
        self.commands.append(list(command))
        return (0, "") if self.package in command or "update" in command else (100, "no package")


class TestJava:
    @pytest.mark.parametrize(
        ("version", "major"), [("1.8.0_392", 8), ("17.0.15", 17), ("21-ea", 21), ("unknown", None)]
    )
    def test_major_version(self, version: str, major: int | None) -> None:
        assert setup.java_major(version) == major

    def test_java_home_comes_before_the_path(self) -> None:
        assert setup.java_commands({"JAVA_HOME": "/jdk"}) == ["/jdk/bin/java", "java"]

    @pytest.mark.parametrize(("version", "enough"), [("11.0.2", False), ("17.0.15", True)])
    def test_at_least_the_version_asked_for(self, version: str, enough: bool) -> None:
        assert setup.has_java(17, {}, answers({"java": java_says(version)})) is enough

    def test_an_old_java_home_is_told_even_if_the_path_has_a_newer_one(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        runner = answers({"/jdk/bin/java": java_says("1.8.0_392"), "java": java_says("21.0.1")})
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
    def test_each_package_manager_has_its_command(self, name: str, command: str) -> None:
        manager = setup.find_package_manager(only(name))
        assert " ".join(setup.jre_commands(manager, 17)[0]) == command

    def test_root_installs_without_asking(self) -> None:
        machine = Machine("openjdk-17-jre-headless")
        setup.ensure_java(17, {}, machine, which=only("apt-get"), is_root=True, confirm=pytest.fail)
        assert machine.commands[0] == ["apt-get", "update"]

    def test_the_default_package_is_tried_where_the_version_is_not_carried(self) -> None:
        machine = Machine("default-jre-headless")
        setup.ensure_java(17, {}, machine, which=only("apt-get"), is_root=True)
        assert len(machine.commands) == 3

    def test_others_are_asked_and_use_sudo(self) -> None:
        machine = Machine("java-17-openjdk-headless")
        setup.ensure_java(
            17, {}, machine, which=only("dnf", "sudo"), is_root=False, confirm=lambda _: True
        )
        assert machine.commands[0][:2] == ["sudo", "dnf"]

    @pytest.mark.parametrize("programs", [("dnf", "sudo"), ("dnf",)])
    def test_without_consent_nothing_is_installed(self, programs: tuple[str, ...]) -> None:
        machine = Machine("java-17-openjdk-headless")
        with pytest.raises(setup.SetupError, match="dnf install java-17-openjdk-headless"):
            setup.ensure_java(
                17, {}, machine, which=only(*programs), is_root=False, confirm=lambda _: False
            )
        assert machine.commands == []

    def test_a_system_without_a_known_manager_is_told_what_to_install(self) -> None:
        with pytest.raises(setup.SetupError, match="set JAVA_HOME"):
            setup.ensure_java(17, {}, answers({}), which=only(), is_root=True)

    def test_an_installation_that_brings_no_java_is_an_error(self) -> None:
        with pytest.raises(setup.SetupError) as caught:
            setup.ensure_java(17, {}, Machine("nothing"), which=only("apk"), is_root=True)
        assert caught.value.output == "no package"

    def test_nobody_is_asked_off_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with Path(os.devnull).open(encoding="utf-8") as nothing:
            monkeypatch.setattr(sys, "stdin", nothing)
            assert setup.ask("install?") is False
