"""A profile with other values in some of its figures, by the paths that replicas have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from streamgauge.profile.figures import Figure, Shares, TaskId
from streamgauge.profile.profile import Profile
from streamgauge.profile.resampled import split_path
from streamgauge.topology.topology import StreamKey

# Values by name, level by level.
Tree = dict[str, Any]


def change_figures(profile: Profile, values: Mapping[str, float]) -> Profile:
    """The profile with these figures instead; none falls below zero.

    Args:
        profile: Whose other figures stay as they are.
        values: By path, as in the profile's replicas; a path that is not there changes nothing.
    """
    tree: Tree = {}
    for path, value in values.items():
        *above, last = split_path(path)
        branch = tree
        for name in above:
            branch = branch.setdefault(name, {})
        branch[last] = value
    changed: Profile = _change(profile, tree)
    return changed


def find_value(profile: Profile, path: str) -> float | None:
    """What a profile has at a path; None where it has nothing there."""
    return _descend(profile, tuple(split_path(path)))


def _descend(part: Any, names: tuple[str, ...]) -> float | None:
    if not names:
        return part.value if isinstance(part, Figure) else None
    if isinstance(part, Shares):
        place = int(names[0]) if names[0].isdecimal() else len(part.parts)
        return part.parts[place] if place < len(part.parts) else None
    if not isinstance(part, Mapping):
        return _descend(getattr(part, names[0], None), names[1:])
    for key, one in part.items():
        own = _name(key)
        if names[: len(own)] == own:
            return _descend(one, names[len(own) :])
    return None


def _change(part: Any, tree: Tree) -> Any:
    if isinstance(part, Mapping):
        return {
            key: one if branch is None else _put(one, branch)
            for key, one in part.items()
            for branch in [_find(tree, _name(key))]
        }
    assert is_dataclass(part)
    if isinstance(part, Shares):
        return _change_shares(part, tree)
    known = {one.name for one in fields(part)}
    changes = {
        name: _put(getattr(part, name), branch)
        for name, branch in tree.items()
        if name in known and getattr(part, name) is not None
    }
    return replace(part, **changes)  # type: ignore[type-var]


def _put(part: Any, value: Any) -> Any:
    """A part with another value, or with others in it."""
    if isinstance(part, Figure):
        return part if isinstance(value, dict) else replace(part, value=max(value, 0.0))
    return _change(part, value) if isinstance(value, dict) else part


def _change_shares(shares: Shares, tree: Tree) -> Shares:
    parts = [max(tree.get(str(place), part), 0.0) for place, part in enumerate(shares.parts)]
    total = sum(parts)
    return replace(shares, parts=tuple(part / total for part in parts)) if total > 0.0 else shares


def _name(key: Any) -> tuple[str, ...]:
    """The names by which a path says a key: a stream and a task have two."""
    if isinstance(key, StreamKey | TaskId):
        return tuple(map(str, key))
    return (f"{key:g}",) if isinstance(key, float) else (str(key),)


def _find(tree: Tree, names: Iterable[str]) -> Any:
    branch: Any = tree
    for name in names:
        branch = branch.get(name) if isinstance(branch, dict) else None
    return branch
