"""The scale-out algorithms of Puttaswamy 2018 a second time: slow, plain and exact.

Chapter 4 (Stela), sections 5.2.3 to 5.2.7 (rates, packages, residual units, combined choice) and
the topologies of chapter 6, written from the text alone. Every number becomes a fraction of the
decimals that it prints as, so that congestion and ties need no tolerance.

    components = {1: {"source": True, "units": 1, "per_unit_output": 600},
                  2: {"source": False, "units": 1, "unit_max": 400, "ratio": 1}}
    edges = {1: {2: 1.0}}

Whoever is declared first wins ties. An allocation maps components to additional units and names
nobody who gets none.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

Components = dict[Any, dict[str, Any]]
Edges = dict[Any, dict[Any, Any]]
Allocation = dict[Any, int]
Topology = tuple[Components, Edges]


@cache
def exact(number: Any) -> Fraction:
    return Fraction(str(number))


def children(edges: Edges, component: Any) -> list[Any]:
    return list(edges.get(component, {}))


def descendants(edges: Edges, component: Any) -> set[Any]:
    found: set[Any] = set()
    waiting = children(edges, component)
    while waiting:
        child = waiting.pop()
        if child not in found:
            found.add(child)
            waiting += children(edges, child)
    return found


def parents_first(components: Components, edges: Edges) -> list[Any]:
    missing = dict.fromkeys(components, 0)
    for shares in edges.values():
        for child in shares:
            missing[child] += 1
    order = [c for c in components if missing[c] == 0]
    for c in order:
        for child in children(edges, c):
            missing[child] -= 1
            if missing[child] == 0:
                order.append(child)
    if len(order) < len(components):
        raise ValueError(f"cycle among {[c for c in components if c not in order]}")
    return order


def propagate(components: Components, edges: Edges, extra: Allocation) -> dict[str, Any]:
    """Rates once `extra` units are added: a parent's output is split, excess input is dropped."""
    arriving = {c: Fraction(0) for c in components}
    highest: dict[Any, Fraction | None] = {}
    processed: dict[Any, Fraction] = {}
    dropped: dict[Any, Fraction] = {}
    output: dict[Any, Fraction] = {}
    for c in parents_first(components, edges):
        fields = components[c]
        units = fields["units"] + extra.get(c, 0)
        if fields["source"]:
            highest[c] = None
            processed[c] = output[c] = exact(fields["per_unit_output"]) * units
            dropped[c] = Fraction(0)
        else:
            limit = exact(fields["unit_max"]) * units
            highest[c] = limit
            processed[c] = min(arriving[c], limit)
            dropped[c] = arriving[c] - processed[c]
            output[c] = processed[c] * exact(fields["ratio"])
        for child, share in edges.get(c, {}).items():
            arriving[child] += output[c] * exact(share)
    leaves = [c for c in components if not children(edges, c)]
    return {
        "input": arriving,
        "max": highest,
        "processed": processed,
        "dropped": dropped,
        "output": output,
        "congested": [c for c in components if dropped[c] > 0],
        "throughput": sum((output[c] for c in leaves), Fraction(0)),
    }


def throughput(components: Components, edges: Edges, extra: Allocation) -> Fraction:
    total: Fraction = propagate(components, edges, extra)["throughput"]
    return total


def increase(components: Components, edges: Edges, extra: Allocation) -> Fraction:
    return throughput(components, edges, extra) - throughput(components, edges, {})


def etp(components: Components, edges: Edges, extra: Allocation, component: Any) -> Fraction:
    """Share of the throughput that leaves through sinks with a free path from `component`."""
    rates = propagate(components, edges, extra)
    if rates["throughput"] == 0:
        return Fraction(0)
    reached = Fraction(0)
    if not children(edges, component):
        reached = rates["output"][component]
    seen: set[Any] = set()
    waiting = children(edges, component)
    while waiting:
        child = waiting.pop(0)
        if child in seen:
            continue
        seen.add(child)
        if child in rates["congested"]:
            continue
        if children(edges, child):
            waiting += children(edges, child)
        else:
            reached += rates["output"][child]
    share: Fraction = reached / rates["throughput"]
    return share


def heads_of(components: Components, edges: Edges, extra: Allocation) -> list[Any]:
    """Who may get units: the congested, else the sources."""
    congested: list[Any] = propagate(components, edges, extra)["congested"]
    return congested or [c for c in components if components[c]["source"]]


def plus(one: Allocation, other: Allocation) -> Allocation:
    return {c: one.get(c, 0) + other.get(c, 0) for c in {**one, **other}}


def stela(components: Components, edges: Edges, n: int) -> Allocation:
    """Algorithms 1 and 2: unit by unit to the congested component of highest ETP."""
    allocation: Allocation = {}
    for _ in range(n):
        best, best_etp = None, Fraction(-1)
        for c in heads_of(components, edges, allocation):
            share = etp(components, edges, allocation, c)
            if share > best_etp:
                best, best_etp = c, share
        allocation = plus(allocation, {best: 1})
    return allocation


def package(
    components: Components, edges: Edges, base: Allocation, head: Any, head_units: int
) -> dict[str, Any]:
    """`head_units` for the head, and for all below it what they need to drop nothing."""
    below = descendants(edges, head)
    units = plus(base, {head: head_units})
    for c in parents_first(components, edges):
        if c in below:
            arriving = propagate(components, edges, units)["input"][c]
            needed = -(-arriving // exact(components[c]["unit_max"]))  # rounded up
            missing = needed - components[c]["units"] - units.get(c, 0)
            if missing > 0:
                units = plus(units, {c: int(missing)})
    added = {c: k - base.get(c, 0) for c, k in units.items() if k > base.get(c, 0)}
    gain = throughput(components, edges, units) - throughput(components, edges, base)
    total = sum(added.values())
    return {
        "head": head,
        "head_units": head_units,
        "allocation": added,
        "increase": gain,
        "total": total,
        "ratio": gain / total,
        "head_is_free": propagate(components, edges, units)["dropped"][head] == 0,
    }


def candidates(
    components: Components, edges: Edges, base: Allocation, limit: int
) -> list[dict[str, Any]]:
    """Packages of 1 to `limit` units for each head; a bolt stops once it drops nothing."""
    found = []
    for head in heads_of(components, edges, base):
        for head_units in range(1, limit + 1):
            one = package(components, edges, base, head, head_units)
            found.append(one)
            if one["head_is_free"] and not components[head]["source"]:
                break
    return found


def covers(edges: Edges, large: dict[str, Any], small: dict[str, Any]) -> bool:
    """Whether a package is a superset of another: head above it, or same head and no fewer."""
    if large["head"] == small["head"]:
        return bool(large["head_units"] >= small["head_units"])
    return small["head"] in descendants(edges, large["head"])


def predictive(
    components: Components,
    edges: Edges,
    n: int,
    base: Allocation | None = None,
    scope: set[Any] | None = None,
) -> Allocation:
    """Algorithm 5: packages by gain per unit while they fit, supersets in place of subsets.

    Units of `base` are granted already; with `scope`, only heads in it count.
    """
    packages = candidates(components, edges, base or {}, n)
    valid = [
        x
        for x in packages
        if x["total"] <= n and x["increase"] > 0 and (scope is None or x["head"] in scope)
    ]
    valid.sort(key=lambda x: -x["ratio"])  # stable: equal ratios stay in order of heads
    chosen: list[dict[str, Any]] = []
    left = n
    for x in valid:
        if left <= 0:
            break
        if any(covers(edges, c, x) for c in chosen):
            continue
        inside = [c for c in chosen if covers(edges, x, c)]
        given_back = sum(c["total"] for c in inside)
        if x["total"] <= left + given_back:
            chosen = [c for c in chosen if c not in inside] + [x]
            left -= x["total"] - given_back
    allocation: Allocation = {}
    for c in chosen:
        allocation = plus(allocation, c["allocation"])
    return allocation


def residual(components: Components, edges: Edges, n: int) -> Allocation:
    """Section 5.2.6: leftover units go to the head of the smallest package, then below it."""
    allocation = predictive(components, edges, n)
    scope = set(components)
    while (left := n - sum(allocation.values())) > 0:
        # A package grows with its head's units: the smallest ones are those with one unit.
        packages = candidates(components, edges, allocation, 1)
        inside = [x for x in packages if x["head"] in scope] or packages
        head = min(inside, key=lambda x: (x["total"], -x["ratio"]))["head"]
        allocation = plus(allocation, {head: 1})
        scope = {head} | descendants(edges, head)
        more = predictive(components, edges, left - 1, base=allocation, scope=scope)
        allocation = plus(allocation, more)
    return allocation


def combined(components: Components, edges: Edges, n: int) -> tuple[str, Allocation]:
    """Algorithm 4: "stela" if it is predicted to gain strictly more, else "predictive"."""
    serial, batch = stela(components, edges, n), residual(components, edges, n)
    if increase(components, edges, serial) > increase(components, edges, batch):
        return "stela", serial
    return "predictive", batch


def exhaustive(components: Components, edges: Edges, n: int) -> tuple[Allocation, Fraction]:
    """The best allocation of n units to any components, sources too, and its increase."""
    before = throughput(components, edges, {})
    best: Allocation = {}
    best_gain = Fraction(-1)
    for choice in combinations_with_replacement(components, n):
        allocation = {c: choice.count(c) for c in choice}
        gain = throughput(components, edges, allocation) - before
        if gain > best_gain:
            best, best_gain = allocation, gain
    return best, best_gain


def topology(source: tuple[Any, ...], *bolts: tuple[Any, ...]) -> Topology:
    """Rows of the tables: name, units, output of the source or maximum of a bolt, ratio, shares."""
    name, units, output, shares = source
    components: Components = {
        name: {"source": True, "units": units, "per_unit_output": exact(output) / units}
    }
    edges: Edges = {name: shares}
    for name, units, highest, ratio, shares in bolts:
        components[name] = {
            "source": False,
            "units": units,
            "unit_max": exact(highest) / units,
            "ratio": ratio,
        }
        edges[name] = shares
    return components, edges


def reversed_shares(components: Components, edges: Edges) -> Topology:
    """Section 6.2.1: the first child gets the last child's share and so on."""
    turned = {p: zip(shares, reversed(shares.values()), strict=True) for p, shares in edges.items()}
    return components, {p: dict(pairs) for p, pairs in turned.items()}


def stepped(components: Components, edges: Edges, step: int) -> Topology:
    """Section 6.2.1: maxima of components grow by `step` per level below the second."""
    level: dict[Any, int] = {}
    for c in parents_first(components, edges):
        above = [level[p] for p in components if c in children(edges, p)]
        level[c] = 1 + max(above, default=0)
    grown = {c: dict(fields) for c, fields in components.items()}
    for c, fields in grown.items():
        if not fields["source"]:
            fields["unit_max"] += Fraction(step * (level[c] - 2), fields["units"])
    return grown, edges


def linear(source: int = 600) -> Topology:
    """Table 6.1, which prints a source of 500."""
    return topology(
        (1, 1, source, {2: 1}), (2, 1, 400, 1, {3: 1}), (3, 1, 250, 1, {4: 1}), (4, 1, 900, 1, {})
    )


def diamond(share: str = "0.5", last: int = 900) -> Topology:
    """Table 6.3, or a variant by the share of 2 and the maximum of 4."""
    return topology(
        (1, 1, 1000, {2: exact(share), 3: 1 - exact(share)}),
        (2, 1, 400, 1, {4: 1}),
        (3, 1, 200, 1, {4: 1}),
        (4, 1, last, 1, {}),
    )


def simple_tree(third: int = 200) -> Topology:
    """Table 6.5, which prints a maximum of 300 for component 3."""
    return topology(
        (1, 1, 2000, {2: 0.6, 3: 0.4}),
        (2, 1, 800, 1, {4: 0.75, 5: 0.25}),
        (3, 1, third, 1, {6: 1}),
        (4, 1, 500, 1, {}),
        (5, 1, 900, 1, {}),
        (6, 1, 600, 1, {}),
    )


def topology_17(ninth: int = 2) -> Topology:
    """Table 6.7, which prints outputs that make the ratio of component 9 one."""
    return topology(
        (1, 2, 2000, {2: 0.4, 3: 0.35, 4: 0.25}),
        (2, 1, 900, 2, {5: 0.55, 6: 0.45}),
        (3, 1, 1100, 2, {7: 0.6, 8: 0.4}),
        (4, 1, 400, 3, {9: 1}),
        (5, 1, 800, 1.5, {10: 0.5, 11: 0.5}),
        (6, 1, 700, 2, {12: 0.5, 13: 0.5}),
        (7, 1, 900, 1, {14: 1}),
        (8, 1, 500, 1, {15: 1}),
        (9, 1, 1000, ninth, {16: 0.6, 17: 0.4}),
        *((c, 1, highest, 1, {}) for c, highest in zip(range(10, 18), LEAVES_17, strict=True)),
    )


LEAVES_17 = (400, 300, 900, 800, 900, 700, 500, 900)


def mixed() -> Topology:
    """Table 6.10 with 7 below 3, a maximum of 600 for 15 and a ratio of 2 for 17."""
    return topology(
        (1, 2, 2000, {2: 0.4, 3: 0.6}),
        (2, 2, 1500, 2, {4: 0.6, 5: 0.4}),
        (3, 1, 1500, 2, {6: 0.6, 7: 0.4}),
        (4, 1, 800, 1, {8: 0.75, 9: 0.25}),
        (5, 1, 600, 1, {}),
        (6, 1, 600, 1, {10: 0.4, 11: 0.35, 12: 0.25}),
        (7, 1, 500, 2, {13: 0.6, 14: 0.4}),
        (8, 1, 700, 1, {15: 0.75, 16: 0.25}),
        (9, 1, 400, 1, {}),
        (10, 1, 600, 1, {}),
        (11, 1, 800, 2, {17: 0.5, 18: 0.5}),
        (12, 1, 600, 1, {19: 1}),
        (13, 1, 700, 1, {20: 1}),
        (14, 1, 600, 1, {21: 1}),
        (15, 1, 600, 1, {22: 0.75, 23: 0.25}),
        (16, 1, 400, 1, {}),
        (17, 1, 500, 2, {}),
        (18, 1, 500, 1, {}),
        (19, 1, 500, 1, {}),
        (20, 1, 900, 1, {}),
        (21, 1, 600, 1, {}),
        (22, 1, 700, 1, {}),
        (23, 1, 500, 1, {}),
    )


def topology_10() -> Topology:
    """Table 6.11."""
    return topology(
        (1, 2, 16000, {2: 0.44, 3: 0.33, 4: 0.22}),
        (2, 1, 4700, 1, {5: 0.6, 6: 0.4}),
        (3, 1, 3500, 1, {7: 0.6, 8: 0.4}),
        (4, 1, 2500, 1, {9: 0.6, 10: 0.4}),
        (5, 1, 2800, 1, {}),
        (6, 1, 2100, 1, {}),
        (7, 1, 2700, 1, {}),
        (8, 1, 3800, 1, {}),
        (9, 1, 3800, 1, {}),
        (10, 1, 3600, 1, {}),
    )


TOPOLOGIES: dict[str, Topology] = {
    "linear as printed": linear(500),
    "linear": linear(),
    "diamond as printed": diamond(),
    "diamond A": diamond("0.55", 950),
    "diamond B": diamond("0.55", 850),
    "diamond C": diamond("0.45", 950),
    "simple tree as printed": simple_tree(300),
    "simple tree": simple_tree(),
    "topology 17 as printed": topology_17(1),
    "topology 17": topology_17(),
    "topology 17 reversed": reversed_shares(*topology_17()),
    "topology 17 step": stepped(*topology_17(), 200),
    "topology 17 step reversed": stepped(*reversed_shares(*topology_17()), 200),
    "testMix": mixed(),
    "testMixRev": reversed_shares(*mixed()),
    "testMixStep": stepped(*mixed(), 100),
    "testMixStepRev": stepped(*reversed_shares(*mixed()), 100),
    "topology 10": topology_10(),
}
