/**
 * `stress bisect` on real runs: a git repository of 65 commits of a chain (scripts/bench/null-chain.js), one of which
 * makes each block 8 % slower. Prints what each bisection named, with its pairs and its time.
 *
 *     node scripts/bisect-demo.js [BISECTIONS] [SEED]
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../src/chain/devchain.js';
import { randomNumbers } from '../src/random.js';
import { table } from './bench/lib.js';

const COMMITS = 64;
/** So long that the noise of a busy machine, some milliseconds, is small against the change. */
const BLOCK_MS = 200;
const SLOWER = 1.08;
const PROGRAM = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const NULL_CHAIN = fileURLToPath(new URL('bench/null-chain.js', import.meta.url));
const LOAD = ['-t', '4', '-d', '3s', '--warmup', '300ms', '--rest', '0s', '--metric', 'p50'];

/**
 * @param {string} folder
 * @param {{commits: number, first: number, slower?: number, blockMs?: number}} plan first: the first bad commit, from 1; above commits: none
 * @returns {string[]} ids of the commits; the first is good
 */
export function makeRepository(folder, { commits, first, slower = SLOWER, blockMs = 50 }) {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { encoding: 'utf8' });
  git('init', '--quiet');
  for (let commit = 0; commit <= commits; commit += 1) {
    writeFileSync(join(folder, 'block-ms'), `${blockMs * (commit < first ? 1 : slower)}\n`);
    writeFileSync(join(folder, 'notes'), `${commit}\n`);
    git('add', '.');
    git('commit', '--quiet', '-m', commit === first ? 'Write blocks with more care' : `Change ${commit}`);
  }
  return git('log', '--reverse', '--format=%H').trim().split('\n');
}

/** The command that starts the chain of a checkout. @param {number} port */
export function startCommand(port) {
  return `exec "${process.execPath}" "${NULL_CHAIN}" --port ${port} --block-ms "$(cat block-ms)"`;
}

/** @param {number} first the first bad commit */
async function demonstrate(first) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-bisect-'));
  try {
    const ids = makeRepository(folder, { commits: COMMITS, first, blockMs: BLOCK_MS });
    const port = await freePort();
    const startMs = performance.now();
    const options = ['--good', ids[0], '--bad', ids[COMMITS], '--repository', folder, '--start', startCommand(port)];
    const where = ['--rpc', `http://127.0.0.1:${port}`, '--dir', join(folder, 'study'), '--build', 'test -s block-ms'];

    spawnSync(process.execPath, [PROGRAM, 'bisect', ...options, ...where, ...LOAD], { stdio: 'inherit' });
    const { result, pairs } = JSON.parse(readFileSync(join(folder, 'study', 'bisect.json'), 'utf8'));
    const { reason = 'failed', from, to, probability = 0 } = result ?? {};
    const [low, high] = [ids.indexOf(from), ids.indexOf(to)];
    return [
      ...[`${first}`, reason === 'range' ? `${low} to ${high}` : reason === 'found' ? `${high}` : reason],
      low <= first && first <= high ? 'yes' : 'no',
      ...[`${(100 * probability).toFixed(1)} %`, `${pairs.length}`],
      `${((performance.now() - startMs) / 60_000).toFixed(1)} min`,
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const random = randomNumbers(Number(process.argv[3] ?? 1));
  const rows = [];
  for (let i = 0; i < Number(process.argv[2] ?? 10); i += 1) {
    rows.push(await demonstrate(1 + Math.floor(random() * COMMITS)));
    process.stdout.write(`${rows[i].join('  ')}\n`);
  }
  process.stdout.write(`${table(['first bad', 'named', 'right', 'probability', 'pairs', 'time'], rows)}\n`);
}
