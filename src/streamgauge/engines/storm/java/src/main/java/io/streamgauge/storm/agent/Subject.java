package io.streamgauge.storm.agent;

/** Who a sample is about; what does not name it is null. */
record Subject(
    boolean ofJob,
    String component,
    Integer task,
    String executor,
    String queue,
    String worker,
    String node,
    String machine
) {
    static Subject worker(String worker, String node) {
        return new Subject(true, null, null, null, null, worker, node, null);
    }

    static Subject node(String node, String machine) {
        return new Subject(false, null, null, null, null, null, node, machine);
    }

    static Subject machine(String machine) {
        return new Subject(false, null, null, null, null, null, null, machine);
    }

    /** An executor in the worker that this is. */
    Subject executor(String component, String executor) {
        return new Subject(true, component, null, executor, null, worker, node, null);
    }

    /** A task of the executor that this is, or of any where it is a worker. */
    Subject task(String component, int task) {
        return new Subject(true, component, task, executor, null, worker, node, null);
    }

    /** A queue of the executor or worker that this is. */
    Subject queue(String queue) {
        return new Subject(true, component, null, executor, queue, worker, node, null);
    }
}
