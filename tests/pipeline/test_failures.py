"""A failed job is told by its innermost cause."""

import pytest
from pyspark.errors import PySparkException

from streamgauge.errors import JobFailed
from streamgauge.pipeline.failures import cause_of, failures_explained

TEXT = """An error occurred while calling o61.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2844)
Caused by: java.io.IOException: the dog ate it
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


def test_the_innermost_cause_is_told():
    assert cause_of(TEXT) == "the dog ate it"
    assert cause_of("plain words\nand more") == "plain words"
    assert cause_of("") == "no reason was given"


def test_a_full_disk_is_told_plainly_with_the_place_that_is_full():
    full = f"{TEXT}java.io.IOException: No space left on device"
    assert "no space left for temporary files" in cause_of(full)
    assert "spark.local.dir" in cause_of(full)
    writing = "[TASK_WRITE_FAILED] Task failed while writing rows to file:/small/lake/_staging/1a."
    said = cause_of(f"org.apache.spark.SparkException: {writing} SQLSTATE: 58030\n{full}")
    assert said == "no space left on the disk of /small/lake/_staging/1a: make room there"


def test_what_spark_raises_becomes_an_error_of_ours():
    with pytest.raises(JobFailed, match="the dog ate it"), failures_explained():
        raise PySparkException(TEXT)
