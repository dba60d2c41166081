"""How the kernels are compiled, and where the compiled code is kept.

Compiled code is kept beside the package, or in the user's cache folder where that cannot be
written. It is valid for the content of all kernel files together: a helper that was compiled into
another function's code must not outlive a change.

Kernels never create arrays, so references are not counted at all: counting them took half of the
time of the event loop.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_HERE = Path(__file__).parent
_SHARED = ("compiling", "handles", "records", "state")


@lru_cache(maxsize=1)
def content() -> str:
    """A digest of all kernel files and of Numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(_HERE.glob("*.py")):
        text = file.read_bytes()
        # Whoever is compiled imports this module; records, handles and states are what they share.
        if b"simulation.compiling" in text or file.stem in _SHARED:
            digest.update(file.name.encode())
            digest.update(text)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def folder() -> Path:
    """Where compiled code is kept."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    beside = _HERE / "__pycache__"
    try:
        beside.mkdir(exist_ok=True)
        probe = beside / f".write-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(home) / "streamgauge"
    return beside


class _ByContent(_CacheLocator):
    """Finds compiled code by the content of the kernels, not by the age of one file."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        del py_file
        self._line = py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(folder())

    def get_source_stamp(self) -> str:
        return content()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _ByContent:
        return cls(py_func, py_file)


_LOCATORS: list[type[object]] = [_ByContent]


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = _LOCATORS


class _Cache(FunctionCache):
    _impl_class = _CacheImpl


class _Part(JITCodeLibrary):
    """Code that is only linked into other code, which is then optimised as a whole.

    Numba would optimise and translate every function with all that it calls, so that a function
    at the bottom would be compiled once for each level above it. Which functions become part of
    their callers is said by who writes them (`inlined`), not left to the compiler.
    """

    hints: tuple[str, ...] = ("noinline",)

    def add_ir_module(self, ir_module: Any) -> None:
        """Take functions in, with hints to the compiler."""
        for function in ir_module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                for hint in self.hints:
                    function.attributes.add(hint)
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Nowhere: it has no code that could be called."""
        del name
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _Part:
        """Itself, which has no environment that could be set."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class _RarePart(_Part):
    """The same of a function that is seldom called: the way around it is to be the short one."""

    hints = ("noinline", "cold")


class _Whole(JITCodeLibrary):
    """A function with all parts it calls, which nobody else needs: what is inlined is dropped."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _WholeCompiler(Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        super().__init__(typing, target, library, *others)
        if library is None:
            self.state.library = _Whole(self.state.targetctx.codegen(), "whole")
            self.state.library.enable_object_caching()


class _PartCompiler(Compiler):
    _library: type[_Part] = _Part

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        super().__init__(typing, target, library, *others)
        self.state.library = library or self._library(self.state.targetctx.codegen(), "part")


class _RarePartCompiler(_PartCompiler):
    _library = _RarePart


# Options that Numba has but does not list; `_nrt` is the counting of references.
# What is not said of inlining would be taken over from whoever calls first.
_jit: Any = partial(njit, _nrt=False, error_model="numpy", forceinline=False)
_jit_part: Any = partial(
    _jit, pipeline_class=_PartCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def compiled(function: Callable[..., Any]) -> Any:
    """A function of its own in compiled code, kept on disk."""
    made = _jit(nogil=True, pipeline_class=_WholeCompiler)(function)
    try:
        made._cache = _Cache(function)
    except OSError:
        # Nowhere to keep it: compiled anew in each process.
        return made
    return made


def internal(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls."""
    return _jit_part()(function)


def rare(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls, and seldom."""
    return _jit_part(pipeline_class=_RarePartCompiler)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of whoever calls it, which only compiled code does."""
    return _jit_part(forceinline=True)(function)


def primitive(function: Callable[..., Any]) -> Any:
    """A small function that becomes part of compiled code, and may be called from anywhere."""
    return _jit(forceinline=True)(function)
