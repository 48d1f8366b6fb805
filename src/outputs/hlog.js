import * as hdr from 'hdr-histogram-js';
import { STAGES } from '../stats/figures.js';
import { recordedValues } from '../stats/histogram.js';
import { BoundedFile } from '../bounded-file.js';
import { warnBy } from './log.js';

/**
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { DistributionJson, IntervalRow } from '../contracts/run-file.d.ts'
 */

/** Readers of the format expect nanoseconds and show milliseconds. */
const NS_PER_US = 1000;
const NS_PER_MS = 1e6;

/**
 * HdrHistogram's log format, version 1.3: for each interval the latency of the operations verified in it, without a tag,
 * and that of each stage under its name.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createHlogOutput(options) {
  const file = new BoundedFile(/** @type {string} */ (options.hlog), { isLossAnError: true, warn: warnBy(options) });
  const writer = new hdr.HistogramLogWriter((text) => file.add(text));
  /** @param {IntervalRow} row @param {DistributionJson} distribution @param {string} tag */
  const line = ({ startMs, endMs }, distribution, tag) =>
    writer.outputIntervalHistogram(nanoseconds(distribution, tag), startMs / 1000, endMs / 1000, NS_PER_MS);
  return {
    ...file.members,
    begin: ({ startedAtMs }) => {
      file.begin('');
      writer.outputLogFormatVersion();
      const time = new Date(startedAtMs).toISOString();
      writer.outputComment(`[StartTime: ${(startedAtMs / 1000).toFixed(3)} (seconds since epoch), ${time}]`);
      writer.outputLegend();
    },
    interval: (row, { stages }) => {
      line(row, row.latency, '');
      for (const { name } of STAGES) line(row, stages[name], name);
      file.cut();
    },
  };
}

/** @param {DistributionJson} distribution @param {string} tag */
function nanoseconds(distribution, tag) {
  // Allocated in its final size, because growing costs more than recording.
  const highestTrackableValue = Math.max(2, 2 * NS_PER_US * (distribution.maxUs ?? 0));
  const histogram = hdr.build({ bitBucketSize: 32, highestTrackableValue, numberOfSignificantValueDigits: 3 });
  for (const { valueUs, count } of recordedValues(distribution)) {
    histogram.recordValueWithCount(valueUs * NS_PER_US, count);
  }
  histogram.tag = tag;
  return histogram;
}
