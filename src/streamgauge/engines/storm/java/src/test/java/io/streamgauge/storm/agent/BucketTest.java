package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class BucketTest {
    private static final Subject TASK =
        Subject.worker("n1:6700", "n1").executor("split", "split[2]").task("split", 2);

    private final Bucket bucket = new Bucket("lab", "words", "a41f", 0, 0.5, true);

    private static String line(String type, String rest) {
        return "{\"type\":\"" + type + "\",\"v\":2,\"cluster\":\"lab\",\"topology\":\"words\","
            + "\"plan_id\":\"a41f\",\"component\":\"split\",\"task\":2,\"executor\":\"split[2]\","
            + "\"worker\":\"n1:6700\",\"node\":\"n1\"," + rest + "}\n";
    }

    @Test
    void samplesOfOneSubjectAreOneLine() {
        Keys keys = Keys.input("lines", "default");
        bucket.counted(TASK, "executed", keys, 4);
        bucket.counted(TASK, "emitted", Keys.output("default"), 9);
        bucket.mean(TASK, "execute_latency_mean", keys, 3, 2);
        assertEquals(List.of(
            line("samples", "\"metrics\":[\"executed\",\"execute_latency_mean\"],"
                + "\"stream\":\"default\",\"source_component\":\"lines\",\"bucket_start_us\":0,"
                + "\"bucket_seconds\":0.5,\"values\":[4,1.5],\"counts\":[4,2]"),
            line("samples", "\"metrics\":[\"emitted\"],\"stream\":\"default\","
                + "\"bucket_start_us\":0,\"bucket_seconds\":0.5,\"values\":[9]")
        ), bucket.lines());
    }

    @Test
    void aMetricThatComesTwiceBeginsAnotherLine() {
        bucket.counted(TASK, "emitted", Keys.output("default"), 9);
        bucket.counted(TASK, "emitted", Keys.output("default"), 8);
        assertEquals(2, bucket.lines().size());
    }

    @Test
    void aHistogramIsOneLineOfItsBins() {
        Distribution times = new Distribution();
        List.of(0L, 1L, 1L, 16L).forEach(times::add);
        bucket.bins(TASK, "execute_cpu_bin", Keys.input("lines", "default"), times.take());
        assertEquals(List.of(line("histogram", "\"metric\":\"execute_cpu_bin\","
            + "\"stream\":\"default\",\"source_component\":\"lines\",\"bins\":[0,1,33],"
            + "\"bucket_start_us\":0,\"bucket_seconds\":0.5,\"values\":[1,2,1]")),
            bucket.lines());
    }
}
