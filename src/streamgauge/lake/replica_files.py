"""The file of a profile's replicas, read, and whether it is the profile's own."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.lake.profile_names import replicas_name
from streamgauge.lake.uris import open_store
from streamgauge.profile.changed_figures import find_value
from streamgauge.profile.profile import Profile
from streamgauge.profile.resampled import Resampled

# A figure lies among its own replicas nearly always, and among those of another profile rarely.
MOST_STRANGE = 0.5


def read_replicas(profile: Profile, folder: str) -> Resampled:
    """The replicas that a profile names.

    Args:
        profile: Names a file.
        folder: Where that file lies: a path or a URI.

    Raises:
        UnreadableFile: The file is missing, damaged, or of another profile.
    """
    assert profile.replicas is not None
    uri = f"{folder.rstrip('/')}/{profile.replicas.file}" if folder else profile.replicas.file
    try:
        store, path = open_store(uri)
        with store.open_input_stream(path) as file:
            content: bytes = file.read()
    except FileNotFoundError:
        raise _refuse(uri, "no such file", "the replicas beside their profile") from None
    except OSError as error:
        raise _refuse(uri, str(error), "a file that can be read") from None
    name = PurePosixPath(uri).name
    if not name.endswith(replicas_name("", content)):
        raise _refuse(
            uri, "content that its name was not made from", "the replicas as they were written"
        )
    return check_replicas(parse_replicas(content, uri), profile, uri)


def check_replicas(resampled: Resampled, profile: Profile, uri: str = "") -> Resampled:
    """The replicas, if they are this profile's.

    Raises:
        UnreadableFile: There are more or fewer than the profile says, or its figures do not lie
            among them.
    """
    assert profile.replicas is not None
    if resampled.count != profile.replicas.count:
        raise _refuse(uri, f"{resampled.count} replicas", f"{profile.replicas.count}, as it says")
    lowest, highest = resampled.values.min(axis=1), resampled.values.max(axis=1)
    strange = 0
    for path, low, high in zip(resampled.paths, lowest, highest, strict=True):
        value = find_value(profile, path)
        strange += value is None or value < low or value > high
    if strange > MOST_STRANGE * len(resampled.paths):
        seen = f"{strange} of {len(resampled.paths)} figures that are not the profile's"
        raise _refuse(uri, seen, "the replicas of this profile")
    return resampled


def parse_replicas(content: bytes, uri: str = "") -> Resampled:
    """The replicas in the content of a file.

    Raises:
        UnreadableFile: It holds none.
    """
    try:
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        lists = table["values"].combine_chunks()
        # `to_numpy` would import pandas, which takes longer than all of a prediction.
        widths = np.unique(np.diff(np.from_dlpack(lists.offsets)))
        flat = np.from_dlpack(lists.flatten().cast(pa.float64()))
        values = np.asarray(flat, dtype=np.float64)
        paths = tuple(table["path"].to_pylist())
    except (pa.ArrowException, KeyError) as error:
        raise _refuse(uri, str(error), "a Parquet file of replicas") from None
    if len(widths) != 1:
        raise _refuse(uri, "figures with different numbers of replicas", "the same of each")
    return Resampled(paths=paths, values=values.reshape(len(paths), int(widths[0])))


def _refuse(uri: str, seen: str, expected: str) -> InvalidInput:
    return UnreadableFile.single((), file=uri, seen=seen, expected=expected)
