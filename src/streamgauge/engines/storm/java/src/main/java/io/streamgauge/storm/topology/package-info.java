/**
 * One topology for all jobs: it reads a program, the JSON that {@code program.py} makes of a job,
 * and becomes the job.
 *
 * <p>Sources keep an open schedule: a tuple is due when the schedule says so, whether or not the
 * source may emit then, and its latency counts from there. Bolts burn CPU time, wait, and emit as
 * told.
 */
package io.streamgauge.storm.topology;
