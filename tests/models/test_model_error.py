"""Errors of models: the next one is within their reach in nine of ten cases."""

import json
import math

import numpy as np
import pytest

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.models.model_error import (
    Kind,
    ModelErrors,
    Regime,
    Residual,
    find_conformal_quantile,
    load_default_errors,
    read_errors,
    write_errors,
)

ANY = Regime(windowed=False, crowded=False, loaded=False)


def errors(*values, job="other", **more):
    return tuple(Residual(job=job, kind=Kind.MEAN, error=value, **more) for value in values)


def judged(*residuals):
    return ModelErrors(origin="tests", residuals=residuals)


def test_of_nineteen_errors_the_eighteenth_is_the_reach():
    assert find_conformal_quantile([float(n) for n in range(1, 20)], 0.9) == 18.0


def test_of_few_errors_the_largest_is_the_reach():
    assert find_conformal_quantile([0.1, 0.3, 0.2], 0.9) == 0.3


def test_without_errors_the_reach_is_not_known():
    assert math.isnan(judged().half_width(Kind.MEAN, ANY, "job", 0.9))


def test_nine_of_ten_next_errors_are_within_the_reach():
    generator = np.random.default_rng(1)
    drawn = np.abs(generator.standard_t(3, size=(4000, 30)))
    reaches = [find_conformal_quantile(row[:-1].tolist(), 0.9) for row in drawn]
    assert np.mean(drawn[:, -1] <= reaches) == pytest.approx(0.9, abs=0.02)


def test_a_jobs_own_errors_do_not_count():
    known = judged(*errors(0.5, job="mine"), *errors(-0.1))
    assert known.half_width(Kind.MEAN, ANY, "mine", 0.9) == 0.1


def test_what_chance_explains_is_taken_off():
    assert judged(*errors(0.5, noise=0.3)).half_width(Kind.MEAN, ANY, "", 0.9) == pytest.approx(0.4)
    assert judged(*errors(0.2, noise=0.3)).half_width(Kind.MEAN, ANY, "", 0.9) == 0.0


def test_errors_of_the_same_regime_count_where_there_are_enough():
    calm = errors(*[0.1] * 9, regime=Regime(crowded=False))
    crowded = errors(*[0.7] * 9, regime=Regime(crowded=True))
    known = judged(*calm, *crowded)
    assert known.half_width(Kind.MEAN, ANY, "", 0.9) == 0.1
    assert known.half_width(Kind.MEAN, Regime(crowded=True), "", 0.9) == 0.7
    few = judged(*calm[:3], *crowded)
    assert few.half_width(Kind.MEAN, ANY, "", 0.9) == 0.7


def test_every_kind_of_figure_has_a_default_in_every_regime():
    for kind in Kind:
        for windowed in (False, True):
            for crowded in (False, True):
                regime = Regime(windowed=windowed, crowded=crowded, loaded=True)
                assert 0.0 < load_default_errors().half_width(kind, regime, "job", 0.9) < 2.0


def test_errors_come_back_from_their_file(tmp_path):
    known = judged(*errors(0.1, 0.2, noise=0.05, regime=Regime(crowded=True)))
    path = tmp_path / "residuals.json"
    path.write_text(write_errors(known))
    assert read_errors(path) == known


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "residuals.json"
    path.write_text("{}")
    with pytest.raises(InvalidInput, match="no judged errors"):
        read_errors(path)
    path.write_text("no JSON")
    with pytest.raises(UnreadableFile, match="JSON file of judged errors"):
        read_errors(path)


def test_every_wrong_row_is_named(tmp_path):
    rows = [{"job": "a", "kind": "speed", "error": 0.1}, {"job": "a", "kind": "rates"}]
    path = tmp_path / "residuals.json"
    path.write_text(json.dumps({"streamgauge_residuals": 1, "residuals": rows}))
    with pytest.raises(InvalidInput, match=r"(?s)speed.*'error'"):
        read_errors(path)
