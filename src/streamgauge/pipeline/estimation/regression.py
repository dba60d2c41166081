"""Least squares without intercept from sums of products, for many small fits at once.

y = Σⱼ βⱼ·xⱼ (Cooper 2020, eq. 4.9) by the normal equations Gβ = c, G = Σx·xᵀ, c = Σx·y over
buckets. They are known block by block, which gives errors that need no constant variance: with
zᵦ = G⁻¹·(cᵦ − Gᵦ·β), the sandwich over blocks (Liang and Zeger 1986), see `block_errors`.

Regressors are scaled to G's diagonal first. Where the condition number is then above 1e8 a ridge of
1e-6 is added, which shares an effect that cannot be told apart between those that may have it.
Tuples and CPU time are never negative, so that coefficients below zero are replaced by the solution
of the same problem with none below zero (Lawson and Hanson 1974).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from streamgauge.pipeline.estimation.schemas import Bools, Floats, Whole
from streamgauge.pipeline.estimation.standard_errors import (
    Bootstrap,
    Groups,
    block_errors,
)

MOST_CONDITION = 1e8
RIDGE = 1e-6
# Fits whose replicas are solved at once; bounds the memory.
_CHUNK = 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """Fits with the same number p of regressors.

    Attributes:
        groups: The blocks of each fit.
        gram: Of each block, p × p.
        moments: Of each block, p.
    """

    groups: Groups
    gram: Floats
    moments: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fits:
    """Solutions, a row a fit and a column a regressor.

    Attributes:
        coefficients: β; NaN for what was never seen, or where products contradict each other.
        errors: Their standard errors; NaN where there are no more blocks than regressors.
        blocks: Of each fit.
        ridged: Which fits needed a ridge.
        bounded: Which fits had coefficients below zero.
        resampled: Which fits have replicas.
        replicas: For each of those, a row a regressor.
    """

    coefficients: Floats
    errors: Floats
    blocks: Whole
    ridged: Bools
    bounded: Bools
    resampled: Bools
    replicas: Floats


def fit(design: Design, bootstrap: Bootstrap) -> Fits:
    """Solve all fits of a design."""
    groups, size = design.groups, design.moments.shape[1]
    gram, moments = _summed(design.gram, groups), _summed(design.moments, groups)
    scale = np.sqrt(np.einsum("fii->fi", gram))
    never = scale == 0.0
    scale[never] = 1.0
    scaled = gram / (scale[:, :, None] * scale[:, None, :])
    eigenvalues = np.linalg.eigvalsh(scaled)
    # Sums of squares never give this: some products were not handed over.
    broken = eigenvalues[:, 0] < -RIDGE / 2.0
    scaled[broken] = np.eye(size)
    ridged = eigenvalues[:, -1] >= MOST_CONDITION * np.maximum(eigenvalues[:, 0], 0.0)
    ridge = np.where(ridged, RIDGE, 0.0)[:, None, None] * np.eye(size)
    scaled = scaled + ridge
    wanted = moments / scale
    free = np.linalg.solve(scaled, wanted[:, :, None])[:, :, 0]
    bounded: Bools = np.any(free < 0.0, axis=1)
    solved = free.copy()
    for place in np.flatnonzero(bounded).tolist():
        solved[place] = _not_negative(scaled[place], wanted[place])
    solved[broken[:, None] | never] = np.nan
    chosen = bootstrap.chosen(groups) & ~broken
    active = np.where(bounded[:, None], solved > 0.0, ~never)
    return Fits(
        coefficients=solved / scale,
        errors=_errors(design, free / scale, np.linalg.inv(scaled), scale),
        blocks=groups.counts,
        ridged=ridged,
        bounded=bounded,
        resampled=chosen,
        replicas=_replicas(design, bootstrap, chosen, scale, ridge, active),
    )


def _summed(by_block: Floats, groups: Groups) -> Floats:
    """Sums over the blocks of each fit, entry by entry."""
    flat = by_block.reshape(len(by_block), -1)
    columns = [groups.sums(np.ascontiguousarray(flat[:, k])) for k in range(flat.shape[1])]
    return np.stack(columns, axis=1).reshape(-1, *by_block.shape[1:])


def _not_negative(gram: Floats, moments: Floats) -> Floats:
    """The least squares solution with no coefficient below zero.

    With G = L·Lᵀ the squares are those of Lᵀβ − L⁻¹c.
    """
    root = np.linalg.cholesky(gram)
    solution, _ = optimize.nnls(root.T, linalg.solve_triangular(root, moments, lower=True))
    return np.asarray(solution)


def _errors(design: Design, free: Floats, inverse: Floats, scale: Floats) -> Floats:
    """Of the solution without bounds: a coefficient of zero has an error too."""
    groups, size = design.groups, free.shape[1]
    fit_of = np.repeat(np.arange(len(free)), groups.counts)
    scores = design.moments.copy()
    for j in range(size):
        scores -= design.gram[:, :, j] * free[fit_of, j][:, None]
    scores /= scale[fit_of]
    errors = np.empty_like(free)
    for j in range(size):
        influences = np.zeros(len(scores))
        for k in range(size):
            influences += scores[:, k] * inverse[fit_of, k, j]
        errors[:, j] = block_errors(influences, groups, parameters=size) / scale[:, j]
    return errors


def _replicas(
    design: Design,
    bootstrap: Bootstrap,
    chosen: Bools,
    scale: Floats,
    ridge: Floats,
    active: Bools,
) -> Floats:
    """Coefficients from weighted blocks; those bounded at zero stay there."""
    size = scale.shape[1]
    found = np.zeros((int(chosen.sum()), size, bootstrap.count))
    places = np.flatnonzero(chosen)
    for begin in range(0, len(places), _CHUNK):
        some = np.zeros(len(chosen), dtype=bool)
        some[places[begin : begin + _CHUNK]] = True
        weighted = {
            "gram": _weighted(design.gram, design.groups, some, bootstrap),
            "moments": _weighted(design.moments, design.groups, some, bootstrap),
        }
        by, on = scale[some], active[some]
        both = on[:, :, None] & on[:, None, :]
        gram = weighted["gram"] / (by[:, :, None] * by[:, None, :])[:, None] + ridge[some][:, None]
        gram = np.where(both[:, None], gram, np.eye(size))
        moments = np.where(on[:, None], weighted["moments"] / by[:, None], 0.0)
        solved = np.linalg.solve(gram, moments[..., None])[..., 0] / by[:, None]
        found[begin : begin + _CHUNK] = np.maximum(solved, 0.0).transpose(0, 2, 1)
    return found


def _weighted(by_block: Floats, groups: Groups, chosen: Bools, bootstrap: Bootstrap) -> Floats:
    """Weighted sums: fit × replica × entries."""
    flat = by_block.reshape(len(by_block), -1)
    columns = [
        bootstrap.sums(np.ascontiguousarray(flat[:, k]), groups, chosen)
        for k in range(flat.shape[1])
    ]
    stacked = np.stack(columns, axis=-1)
    return stacked.reshape(*stacked.shape[:2], *by_block.shape[1:])
