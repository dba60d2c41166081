package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class TalliesTest {
    private static void twice(Runnable work) throws InterruptedException {
        Thread one = new Thread(work);
        Thread other = new Thread(work);
        one.start();
        other.start();
        one.join();
        other.join();
    }

    @Test
    void nothingIsLostBetweenTwoThreads() throws InterruptedException {
        TaskTally task = new TaskTally(1, "split", new ExecutorTally("split"), 4);
        twice(() -> {
            for (int tuple = 0; tuple < 100_000; tuple++) {
                task.output(tuple % 2 == 0 ? "words" : "default").sentTo(tuple % 4);
                task.input("lines", "default").executeWall.add(3);
            }
        });
        assertArrayEquals(
            new long[] {50_000, 0, 50_000, 0}, task.output("words").takeSent());
        Distribution.Growth times = task.input("lines", "default").executeWall.take();
        assertEquals(600_000, times.sum());
        assertEquals(1_800_000.0, times.squares());
        assertEquals(200_000, times.bins()[Bins.of(3)]);
    }

    @Test
    void aCountIsTakenOnce() {
        Count count = new Count();
        count.add(7);
        assertEquals(7, count.take());
        assertEquals(0, count.take());
        assertEquals(7, count.total());
    }

    @Test
    void aDistributionHasCountSumSquaresAndBins() {
        Distribution times = new Distribution();
        assertNull(times.take());
        times.add(3);
        times.add(1000);
        Distribution.Growth grown = times.take();
        assertEquals(2, grown.count());
        assertEquals(1003, grown.sum());
        assertEquals(1_000_009.0, grown.squares());
        assertEquals(1, grown.bins()[80]);
        assertNull(times.take());
    }

    @Test
    void squaresOfSecondsDoNotOverflow() {
        Distribution times = new Distribution();
        for (int second = 0; second < 100; second++) {
            times.add(1_000_000_000);
        }
        assertEquals(1e20, times.take().squares());
    }

    @Test
    void anExecutionBeginsWhenTheThreadWasLastFree() {
        ExecutorTally executor = new ExecutorTally("split");
        assertEquals(-1, executor.executionEnded(1_000));
        executor.waited(1_000, 5_000);
        assertEquals(300, executor.executionEnded(5_300));
        assertEquals(200, executor.executionEnded(5_500));
        executor.wasHeld(5_500, 9_000);
        assertEquals(100, executor.executionEnded(9_100));
        assertEquals(4_000, executor.idle.take());
        assertEquals(3_500, executor.held.take());
    }
}
