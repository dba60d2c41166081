package io.streamgauge.storm.agent;

/** What one task did with the tuples of one stream of one component. */
final class InputTally {
    final String source;
    final String stream;
    final Count executed = new Count();
    final Count acked = new Count();
    final Count failed = new Count();
    final Distribution executeWall = new Distribution();
    final Distribution executeCpu = new Distribution();
    final Distribution process = new Distribution();
    /** What the engine timed itself, by a clock of milliseconds. */
    final Count sampledExecutes = new Count();
    final Count sampledExecuteMs = new Count();
    final Count sampledProcesses = new Count();
    final Count sampledProcessMs = new Count();

    InputTally(String source, String stream) {
        this.source = source;
        this.stream = stream;
    }
}
