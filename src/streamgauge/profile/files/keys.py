"""How keys stand in files: declared with behaviours, or measured."""

from __future__ import annotations

from streamgauge.profile.keys import GivenKeys, LetterKeys, UniformKeys, ZipfKeys
from streamgauge.topology.files.file_model import one_of

KeysFile = one_of("Keys", [UniformKeys, ZipfKeys, LetterKeys, GivenKeys])
