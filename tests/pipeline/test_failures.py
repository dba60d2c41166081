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


def test_a_full_disk_is_told_plainly():
    assert "no space left" in cause_of(f"{TEXT}java.io.IOException: No space left on device")


def test_what_spark_raises_becomes_an_error_of_ours():
    with pytest.raises(JobFailed, match="the dog ate it"), failures_explained():
        raise PySparkException(TEXT)
