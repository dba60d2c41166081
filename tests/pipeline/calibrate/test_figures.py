"""How figures pass through Spark."""

import numpy as np
import pyarrow as pa

from streamgauge.pipeline.calibrate.figures import packed, unpacked
from streamgauge.pipeline.estimation.schemas import FIGURES


def test_replicas_come_back_as_they_went():
    rows = [
        {"replicas": [1.5, float("nan"), -0.0], "scv_replicas": None},
        {"replicas": None, "scv_replicas": []},
        {"replicas": [], "scv_replicas": [5e-324]},
    ]
    figure = {"figure": "x", "value": 1.0, "samples": 1, "buckets": 1, "blocks": 1}
    table = pa.Table.from_pylist(
        [figure | {"block_seconds": 1.0, **row} for row in rows], schema=FIGURES
    )
    through = packed(table)
    assert through["replicas"].type == pa.binary()
    back = unpacked(through)
    assert back.schema.equals(FIGURES)
    for name in ("replicas", "scv_replicas"):
        for was, found in zip(table[name].to_pylist(), back[name].to_pylist(), strict=True):
            assert (was is None) == (found is None)
            if was is not None:
                assert np.asarray(was).tobytes() == np.asarray(found).tobytes()
