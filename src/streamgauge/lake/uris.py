"""URIs of lakes, tables and files, and opening what they name.

A plain path is a URI too: that of a local file. Local URIs are kept as absolute paths, all others
as they are, so that the same place has one spelling.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from streamgauge.errors import InvalidInput, UnreadableFile

_LOCAL = ("", "file")


def is_local(uri: str) -> bool:
    """Whether a URI names a place on this machine."""
    return urlsplit(uri).scheme in _LOCAL


def normal(uri: str | Path) -> str:
    """The one spelling of a URI: an absolute path, or scheme and path without a slash at the end.

    Raises:
        InvalidInput: Nothing was named.
    """
    text = str(uri)
    if not text.strip():
        raise InvalidInput.single(("uri",), seen="an empty text", expected="a path or URI")
    if not is_local(text):
        return text.rstrip("/")
    path = unquote(urlsplit(text).path) if text.startswith("file:") else text
    return str(Path(path).expanduser().resolve())


def joined(uri: str, *parts: str) -> str:
    """The URI below another one."""
    return "/".join([uri.rstrip("/"), *parts])


def open_store(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it.

    Raises:
        InvalidInput: Its scheme is not known here.
    """
    if is_local(uri):
        return fs.LocalFileSystem(), normal(uri)
    try:
        store, path = fs.FileSystem.from_uri(uri)
    except (ValueError, OSError, NotImplementedError) as error:
        raise InvalidInput.single(
            ("uri",),
            seen=f"{uri}: {error}",
            expected="a path, or a URI of a store that pyarrow knows (s3, gs, hdfs, abfs)",
        ) from None
    return store, path


def list_files(uri: str, *, recursive: bool = True) -> list[fs.FileInfo]:
    """The files below a URI, or the one it names; sorted by path.

    Raises:
        UnreadableFile: There is no such place, or it cannot be read.
    """
    store, path = open_store(uri)
    try:
        found = store.get_file_info(path)
        if found.type is fs.FileType.File:
            return [found]
        if found.type is fs.FileType.NotFound:
            raise FileNotFoundError
        inside = store.get_file_info(fs.FileSelector(path, recursive=recursive))
    except FileNotFoundError:
        raise UnreadableFile.single(
            (), file=uri, seen="no such file or folder", expected="one that exists"
        ) from None
    except OSError as error:
        raise UnreadableFile.single(
            (), file=uri, seen=str(error), expected="a place that can be read"
        ) from None
    return sorted((one for one in inside if one.is_file), key=lambda one: str(one.path))


def uri_in(uri: str, path: str) -> str:
    """The URI of a path that a listing of `uri` gave."""
    if is_local(uri):
        return path
    parts = urlsplit(uri)
    # Stores of objects count the bucket as part of the path, HDFS does not count the host.
    host = "" if parts.scheme != "hdfs" else parts.netloc
    return f"{parts.scheme}://{host}{path}" if host else f"{parts.scheme}://{path}"
