import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Output, OutputOptions } from './index.js'
 */

/**
 * The run file in one line among whatever else a log has, for clusters whose instances share no storage: `stress merge`
 * finds it there.
 */

export const RESULT_SCHEMA = 'evm-stress/result@1';

/**
 * @param {RunFile} run
 * @returns {string}
 */
export function resultLine(run) {
  const text = JSON.stringify(run);
  const { runId = null, index = null, attempt = 0 } = run.instance ?? {};
  const bytes = Buffer.from(text);
  const result = {
    schema: RESULT_SCHEMA,
    runId,
    index,
    attempt,
    id: run.id,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    gzip: gzipSync(bytes).toString('base64'),
  };
  return `STRESS_RESULT ${JSON.stringify(result)}`;
}

/**
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createResultLineOutput({ stream }) {
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    interval: () => {},
    finish: (run) => stream.write(`${resultLine(run)}\n`),
  };
}
