/**
 * A metrics agent for any topology: a reporter and a task hook that write Streamgauge's raw format.
 *
 * <p>Executors' threads only add to counters; one thread of the agent reads them once a bucket and
 * writes lines. Nothing here throws into a topology.
 */
package io.streamgauge.storm.agent;
