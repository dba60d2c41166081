"""Bundles of arrays that compiled functions hand to each other as one pointer.

A named tuple of a hundred arrays is a thousand values to a compiled function, and every call
copies them; compiling that takes minutes. A handle is the address of a block of memory that holds
where each array lies, its extents, and the plain numbers; reading an attribute reads the block.
Nothing in a block changes while compiled code runs, and the compiler is told so.

An array in a handle is a `TableType`: the address of its words in the block. Its elements are read
and written by index, one or two, never negative and never checked: an access is one load of where
the table lies and one of the element, where Numba's own arrays take a dozen instructions. Whole
numbers have 64 bits once they are read, so that a function is not compiled again for shorter ones.

Numbers of a bundle may be fixed: compiled code holds them as constants, and what they rule out is
not in it. A bundle with fixed numbers is a type of its own, so one source gives several variants.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core.imputils import lower_setattr_generic
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_global,
    signature,
)
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.numpy_support import from_dtype

_WORD = 8
_WHOLE = ir.IntType(64)
_BYTE = ir.IntType(8)
_ADDRESS = _BYTE.as_pointer()


class _Field(NamedTuple):
    kind: Any
    word: int
    fixed: int | None


class RowType(types.Type):
    """The type of a record in a table: its address."""

    def __init__(self, record: types.Record) -> None:
        self.record = record
        super().__init__(name=f"Row({record})")


class TableType(types.Type):
    """The type of an array in a handle, with the type of its elements in memory."""

    def __init__(self, element: types.Type, axes: int) -> None:
        self.element, self.axes = element, axes
        super().__init__(name=f"Table({element}, {axes})")


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

    def __init__(self, values: Any, *, variant: str = "", fixed: Mapping[str, int] = {}) -> None:
        """Make one.

        Args:
            values: The named tuple, whose own named tuples become handles of the same variant.
            variant: Names the type of a bundle with fixed numbers.
            fixed: Whole numbers, of this tuple or one inside it, that compiled code may rely on.
        """
        self.values = values
        named = values._asdict()
        self._parts = {
            name: Handle(value, variant=variant, fixed=fixed)
            for name, value in named.items()
            if _is_bundle(value)
        }
        self.kind = HandleType(variant + type(values).__name__)
        fields: dict[str, _Field] = {}
        words: list[int] = []
        for name, value in named.items():
            kind = self._parts[name].kind if name in self._parts else _kind_of(value)
            fields[name] = _Field(kind, len(words), fixed.get(name))
            if name in fixed and value != fixed[name]:
                raise ValueError(f"{name} is {value}, not {fixed[name]} as in this variant")
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
            return [value.ctypes.data, *value.shape]
        if isinstance(value, float):
            return [int(np.float64(value).view(np.int64))]
        return [int(value)]


def _is_bundle(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_asdict")


def _kind_of(value: Any) -> types.Type:
    return _table_type(value.dtype, value.ndim) if isinstance(value, np.ndarray) else typeof(value)


@lru_cache
def _table_type(element: np.dtype[Any], axes: int) -> TableType:
    """Kept, as Numba builds the types of records anew for each array."""
    return TableType(from_dtype(element), axes)


@typeof_impl.register(Handle)
def _type_of(value: Handle, context: Any) -> HandleType:
    del context
    return value.kind


@register_model(TableType)
@register_model(RowType)
@register_model(HandleType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, _ADDRESS)


@unbox(HandleType)
def _unbox(kind: HandleType, value: Any, context: Any) -> NativeValue:
    del kind
    address = context.pyapi.object_getattr_string(value, "address")
    native = context.pyapi.long_as_longlong(address)
    context.pyapi.decref(address)
    return NativeValue(context.builder.inttoptr(native, _ADDRESS))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = HandleType

    # Numba declares the method as a constant that says there is none.
    def generic_resolve(self, kind: HandleType, attribute: str) -> Any:  # type: ignore[override]
        field = kind.fields.get(attribute)
        return None if field is None else field.kind


def _as_read(element: types.Type) -> types.Type:
    """The type of an element, or of a field of a record, outside of its table."""
    if isinstance(element, types.Record):
        return RowType(element)
    signed = isinstance(element, types.Integer) and getattr(element, "signed", False)
    return types.int64 if signed else element


@infer_getattr
class _RowAttributes(AttributeTemplate):
    key = RowType

    # Likewise.
    def generic_resolve(self, kind: RowType, attribute: str) -> Any:  # type: ignore[override]
        if attribute not in kind.record.fields:
            return None
        return _as_read(kind.record.typeof(attribute))


def _beyond(builder: Any, address: Any, offset: Any) -> Any:
    """So many bytes beyond an address, inside of the same table or block."""
    return builder.gep(address, [offset], inbounds=True, source_etype=_BYTE)


def _word(builder: Any, address: Any, place: int, as_type: Any = _WHOLE) -> Any:
    """A word of a block, which never changes while compiled code runs."""
    at = _beyond(builder, address, ir.Constant(_WHOLE, place * _WORD))
    loaded = builder.load(builder.bitcast(at, as_type.as_pointer()))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@lower_getattr_generic(HandleType)
def _attribute(context: Any, builder: Any, kind: HandleType, value: Any, attribute: str) -> Any:
    field = kind.fields[attribute]
    if isinstance(field.kind, TableType):
        return _beyond(builder, value, ir.Constant(_WHOLE, field.word * _WORD))
    as_type = context.get_value_type(field.kind)
    if field.fixed is not None:
        return ir.Constant(as_type, field.fixed)
    return _word(builder, value, field.word, as_type)


def _is_index(table: TableType, index: Any) -> bool:
    parts = (index,) if table.axes == 1 else getattr(index, "types", ())
    return len(parts) == table.axes and all(isinstance(each, types.Integer) for each in parts)


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        del kws
        table, index = args
        if isinstance(table, TableType) and _is_index(table, index):
            return signature(_as_read(table.element), table, index)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        del kws
        table, index, _ = args
        if isinstance(table, TableType) and _is_index(table, index):
            return signature(types.none, table, index, _as_read(table.element))
        return None


@infer_global(len)
class _Length(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        del kws
        return signature(types.intp, *args) if isinstance(args[0], TableType) else None


@lower_builtin(len, TableType)
def _length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    del context, sig
    return _word(builder, args[0], 1)


def _place(context: Any, builder: Any, table: TableType, index: Any, args: Any) -> Any:
    """The address of the element of an index."""
    if table.axes == 1:
        values, kinds = [args[1]], [index]
    else:
        values = [builder.extract_value(args[1], axis) for axis in range(table.axes)]
        kinds = list(index)
    number: Any = ir.Constant(_WHOLE, 0)
    for axis, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        if axis > 0:
            number = builder.mul(number, _word(builder, args[0], 1 + axis))
        number = builder.add(number, context.cast(builder, value, kind, types.intp))
    if isinstance(table.element, types.Record):
        size = table.element.size
    else:
        size = context.get_abi_sizeof(context.get_data_type(table.element))
    offset = builder.mul(number, ir.Constant(_WHOLE, size))
    return _beyond(builder, _word(builder, args[0], 0, _ADDRESS), offset)


def _tag(builder: Any, place: str) -> Any:
    """Says that what is stored under one name never overlaps what is read under another."""
    add, text = builder.module.add_metadata, ir.MetaDataString
    root = add([text(builder.module, "streamgauge tables")])
    kind = add([text(builder.module, place), root, ir.Constant(_WHOLE, 0)])
    return add([kind, kind, ir.Constant(_WHOLE, 0)])


def _load(context: Any, builder: Any, element: types.Type, address: Any, place: str) -> Any:
    pointer = builder.bitcast(address, context.get_data_type(element).as_pointer())
    value = builder.load(pointer)
    value.set_metadata("tbaa", _tag(builder, place))
    return context.cast(builder, value, element, _as_read(element))


def _store(
    context: Any, builder: Any, element: types.Type, address: Any, value: Any, place: str
) -> None:
    pointer = builder.bitcast(address, context.get_data_type(element).as_pointer())
    stored = builder.store(context.cast(builder, value, _as_read(element), element), pointer)
    stored.set_metadata("tbaa", _tag(builder, place))


@lower_builtin(operator.getitem, TableType, types.Any)
def _get_element(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    table, index = sig.args
    at = _place(context, builder, table, index, args)
    if isinstance(table.element, types.Record):
        return at
    return _load(context, builder, table.element, at, table.name)


@lower_builtin(operator.setitem, TableType, types.Any, types.Any)
def _set_element(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    table, index, _ = sig.args
    at = _place(context, builder, table, index, args)
    _store(context, builder, table.element, at, args[2], table.name)
    return context.get_dummy_value()


def _field_address(builder: Any, kind: RowType, row: Any, attribute: str) -> Any:
    return _beyond(builder, row, ir.Constant(_WHOLE, kind.record.offset(attribute)))


@lower_getattr_generic(RowType)
def _get_field(context: Any, builder: Any, kind: RowType, row: Any, attribute: str) -> Any:
    at = _field_address(builder, kind, row, attribute)
    return _load(context, builder, kind.record.typeof(attribute), at, f"{kind.name}.{attribute}")


@lower_setattr_generic(RowType)
def _set_field(context: Any, builder: Any, sig: Any, args: Any, attribute: str) -> None:
    kind, (row, value) = sig.args[0], args
    at = _field_address(builder, kind, row, attribute)
    name = f"{kind.name}.{attribute}"
    _store(context, builder, kind.record.typeof(attribute), at, value, name)
