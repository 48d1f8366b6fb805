/** A disk on which there is no more room, or a limit for the size of files: what is said to be missing is what is missing, and each file ends with a whole line. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { spawnStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { NullChain } from '../../scripts/bench/null-chain.js' */

/** @type {NullChain} */
let chain;
before(async () => {
  chain = await startNullChain({ blockMs: 20 });
});
after(() => chain?.stop());

const CALLS = '-t 20 --iterations 600 -d 60s --workload rpc --method eth_chainId'.split(' ');
const PAYMENTS = '-t 2 -d 1500ms --interval 100ms --workload transfer'.split(' ');

/**
 * Files that grow in the load, the lines in them that are no rows, and a limit in blocks of 512 or 1024 bytes that is too low for the load.
 * @type {Array<{option: string, name: string, head: number, units: number, load: string[]}>}
 */
const FILES = [
  { option: '--samples', name: 'samples.csv', head: 1, units: 100, load: CALLS },
  { option: '--samples', name: 'samples.ndjson', head: 0, units: 100, load: CALLS },
  { option: '--samples', name: 'samples.csv.gz', head: 1, units: 100, load: CALLS },
  { option: '--samples', name: 'samples.ndjson.gz', head: 0, units: 100, load: CALLS },
  { option: '--blocks', name: 'blocks.csv', head: 1, units: 4, load: PAYMENTS },
  { option: '--intervals', name: 'intervals.ndjson', head: 0, units: 30, load: PAYMENTS },
  { option: '--hlog', name: 'latency.hlog', head: 4, units: 4, load: PAYMENTS },
];

/** @param {string} file */
function textOf(file) {
  const bytes = readFileSync(file);
  return String(file.endsWith('.gz') ? gunzipSync(bytes) : bytes);
}

describe('a limit for the size of files', { skip: process.platform === 'win32' }, () => {
  for (const { option, name, head, units, load } of FILES)
    it(`${option} ${name}`, async (t) => {
      const file = join(temporaryFolder(t), name);
      const via = ['sh', '-c', `ulimit -f ${units}; exec "$0" "$@"`];
      const { code, stdout, stderr } = await spawnStress(
        [...load, '--rpc', chain.url, option, file, '--out=-', '--quiet'],
        {
          via,
        },
      ).done;
      assert.equal(code, 73, stderr);
      assert.match(stderr, /^ERROR: cannot write .*: its size limit is reached \(ulimit -f\)$/m);
      const text = textOf(file);
      assert.ok(text.endsWith('\n'), text.slice(-80));
      const rows = text.split('\n').length - 1 - head;
      assert.ok(rows > 0);
      const { counts, generator } = JSON.parse(stdout);
      if (option === '--samples') assert.equal(generator.samplesDropped, counts.started - rows);
      else assert.equal(generator.samplesDropped, 0);
    });
});
