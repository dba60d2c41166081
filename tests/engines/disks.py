"""A disk without room."""

import resource
from contextlib import contextmanager


@contextmanager
def small_disk():
    # A limit on the size of files stands for a full disk: writing fails in the middle. It must be
    # lifted before the test ends, or it meets the file that the test's own report goes to.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
