"""Bundles of arrays that compiled functions hand to each other as one pointer.

A named tuple of a hundred arrays is a thousand values to a compiled function, and every call
copies them; compiling that takes minutes. A handle is the address of a block of memory that holds
where each array lies, how long it is, and the plain numbers; reading an attribute reads the block.
Nothing in a block changes while compiled code runs, and the compiler is told so.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

_WORD = 8


class _Field(NamedTuple):
    kind: Any
    word: int


class HandleType(types.Type):
    """The type of a handle: known by its name alone, which keeps symbols short."""

    layouts: ClassVar[dict[str, dict[str, _Field]]] = {}

    def __init__(self, name: str) -> None:
        super().__init__(name=name)

    @property
    def fields(self) -> dict[str, _Field]:
        """What the named tuple holds, and where in the block."""
        return self.layouts[self.name]


class Handle:
    """A named tuple, its arrays kept alive, with the block that describes it.

    Attributes:
        values: The named tuple.
        kind: Its type to the compiler.
        address: Of the block.
    """

    def __init__(self, values: Any) -> None:
        self.values = values
        self.kind = HandleType(type(values).__name__)
        self._parts = {
            name: Handle(value) for name, value in values._asdict().items() if _is_bundle(value)
        }
        fields: dict[str, _Field] = {}
        words: list[int] = []
        for name, value in values._asdict().items():
            kind = self._parts[name].kind if name in self._parts else typeof(value)
            fields[name] = _Field(kind, len(words))
            words += self._words(name, value)
        self._block = np.asarray(words, dtype=np.int64)
        self.address = self._block.ctypes.data
        HandleType.layouts[self.kind.name] = fields

    def _words(self, name: str, value: Any) -> list[int]:
        if name in self._parts:
            return [self._parts[name].address]
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous:
                raise ValueError(f"{name} is not contiguous")
            return [value.ctypes.data, value.size, *value.shape]
        if isinstance(value, float):
            return [int(np.float64(value).view(np.int64))]
        return [int(value)]


def _is_bundle(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_asdict")


@typeof_impl.register(Handle)
def _type_of(value: Handle, context: Any) -> HandleType:
    del context
    return value.kind


@register_model(HandleType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: HandleType) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@unbox(HandleType)
def _unbox(kind: HandleType, value: Any, context: Any) -> NativeValue:
    del kind
    address = context.pyapi.object_getattr_string(value, "address")
    native = context.pyapi.long_as_longlong(address)
    context.pyapi.decref(address)
    return NativeValue(native)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = HandleType

    # Numba declares the method as a constant that says there is none.
    def generic_resolve(self, kind: HandleType, attribute: str) -> Any:  # type: ignore[override]
        field = kind.fields.get(attribute)
        return None if field is None else field.kind


@lower_getattr_generic(HandleType)
def _attribute(context: Any, builder: Any, kind: HandleType, value: Any, attribute: str) -> Any:
    field = kind.fields[attribute]

    def word(offset: int, as_type: Any) -> Any:
        address = builder.add(value, ir.Constant(ir.IntType(64), (field.word + offset) * _WORD))
        loaded = builder.load(builder.inttoptr(address, as_type.as_pointer()))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    whole = ir.IntType(64)
    if isinstance(field.kind, HandleType):
        return word(0, whole)
    if not isinstance(field.kind, types.Array):
        return word(0, context.get_value_type(field.kind))
    array = context.make_array(field.kind)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(field.kind.dtype))
    if isinstance(field.kind.dtype, types.Record):
        size = field.kind.dtype.size
    shape = [word(2 + axis, whole) for axis in range(field.kind.ndim)]
    strides: list[Any] = []
    step: Any = ir.Constant(whole, size)
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    array.data = builder.inttoptr(word(0, whole), array.data.type)
    array.nitems = word(1, whole)
    array.itemsize = ir.Constant(whole, size)
    array.shape = _packed(builder, shape)
    array.strides = _packed(builder, strides)
    return array._getvalue()


def _packed(builder: Any, values: list[Any]) -> Any:
    packed = ir.Constant(ir.ArrayType(ir.IntType(64), len(values)), ir.Undefined)
    for place, value in enumerate(values):
        packed = builder.insert_value(packed, value, place)
    return packed
