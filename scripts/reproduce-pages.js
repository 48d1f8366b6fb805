/**
 * The paged lists of docs/evidence.md: users who list logs page by page, on a geth as it is and on one with smaller
 * caches, which have the same chain. The nodes take turns, A B B A, and stress compare says what differs.
 *
 *     npm run reproduce:pages -- [--logs 2000] [--bytes 10240] [--page-size 100] [--users 10] [--iterations 30]
 *       [--repeat 6] [--flags '--cache=16 --cache.blocklogs=1'] [--dir pages]
 *
 * --flags are those that only the second geth has. The run files, comparison and page of figures are in --dir.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startGeth } from './nodes/geth.js';

/** @import { RunningNode } from './nodes/build.js' */

const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));

const { values } = parseArgs({
  options: {
    logs: { type: 'string', default: '2000' },
    bytes: { type: 'string', default: '10240' },
    'page-size': { type: 'string', default: '100' },
    users: { type: 'string', default: '10' },
    iterations: { type: 'string', default: '30' },
    repeat: { type: 'string', default: '6' },
    flags: { type: 'string', default: '--cache=16 --cache.blocklogs=1' },
    dir: { type: 'string', default: 'pages' },
  },
});
const repeat = Number(values.repeat);
if (!Number.isInteger(repeat) || repeat < 1) throw new Error(`--repeat ${values.repeat}: give a whole number`);
mkdirSync(values.dir, { recursive: true });
const data = join(values.dir, 'logs.json');

const folder = mkdtempSync(join(tmpdir(), 'stress-pages-'));
const end = new AbortController();
// A Ctrl-C reaches stress and the nodes without us; what is left is to clean up.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end.abort());
try {
  await makeLogs(join(folder, 'a'));
  cpSync(join(folder, 'a'), join(folder, 'b'), { recursive: true });
  const [a, b] = await Promise.all([
    startGeth({ dataDir: join(folder, 'a'), signal: end.signal }),
    startGeth({ dataDir: join(folder, 'b'), flags: values.flags.split(/\s+/).filter(Boolean), signal: end.signal }),
  ]);
  try {
    process.exitCode = await compare(a, b);
  } finally {
    await Promise.all([a.stop(), b.stop()]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Both nodes get what this one leaves in its folder. @param {string} dataDir */
async function makeLogs(dataDir) {
  const node = await startGeth({ dataDir, signal: end.signal });
  try {
    const { logs, bytes, 'page-size': pageSize } = values;
    const pages = Math.ceil(Number(logs) / Number(pageSize));
    const load = ['-t', '1', '--iterations', String(pages), '--workload', 'logs', '--bytes', bytes];
    const code = await stress(['--rpc', node.url, ...load, '--page-size', pageSize, '--logs', data], node);
    if (code !== 0) throw new Error(`the logs were not made: stress ended with exit code ${code}`);
  } finally {
    await node.stop();
  }
}

/** @param {RunningNode} a @param {RunningNode} b @returns {Promise<number>} the exit code */
async function compare(a, b) {
  /** @type {Array<{name: 'a' | 'b', words: string, node: RunningNode, files: string[]}>} */
  const sides = [
    { name: 'a', words: 'geth as it is', node: a, files: [] },
    { name: 'b', words: `geth ${values.flags}`, node: b, files: [] },
  ];
  for (let i = 0; i < repeat; i += 1) {
    for (const { name, words, node, files } of i % 2 === 0 ? sides : sides.toReversed()) {
      const out = join(values.dir, `${name}-${i + 1}.json`);
      process.stdout.write(`run ${i + 1} of ${repeat} on ${words}\n`);
      const load = ['--calls', 'pages', '--data', data, '--users', values.users, '--iterations', values.iterations];
      const watched = ['--rpc', node.url, '--node-pid', String(node.pid)];
      const code = await stress(['--workload', 'rpc', ...load, ...watched, '--out', out], node);
      if (code !== 0) return code;
      files.push(out);
    }
  }
  const results = ['--out', join(values.dir, 'compare.json'), '--html', join(values.dir, 'compare.html')];
  const [base, candidate] = sides.map(({ files }) => files);
  return stress(['compare', ...base, '--with', ...candidate, '--metric', 'avg', ...results], a);
}

/** @param {string[]} args @param {RunningNode} node @returns {Promise<number>} the exit code */
async function stress(args, { funderKey }) {
  const env = { ...process.env, STRESS_FUNDER_KEY: funderKey };
  const child = spawn(process.execPath, [STRESS, ...args], { env, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}
