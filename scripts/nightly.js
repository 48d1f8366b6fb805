/**
 * Every suite that npm test leaves out, one after the other, and one table of their results:
 *
 *     npm run test:nightly -- [--only slow,faults] [--allow-missing]
 *
 * A suite whose programs this machine lacks is skipped, with the reason; without --allow-missing the exit code is then 1.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AVALANCHEGO } from './nodes/avalanche.js';
import { isBuilt } from './nodes/build.js';
import { EVMD } from './nodes/cosmos-evm.js';
import { ERIGON } from './nodes/erigon.js';
import { GETH } from './nodes/geth.js';
import { OTELCOL } from './nodes/otelcol.js';
import { POLYGON_EDGE } from './nodes/polygon-edge.js';

const TEST = fileURLToPath(new URL('test.js', import.meta.url));

/** @param {string} program @returns {string | null} why it cannot be used */
const lacks = (program) => (spawnSync(program, ['--version']).error === undefined ? null : `no ${program}`);
const noRoot = () => (process.platform === 'linux' && process.getuid?.() === 0 ? null : 'needs Linux and root');
const noLab = () => noRoot() ?? (existsSync(process.env.STRESS_LAB ?? '') ? null : 'STRESS_LAB names no folder');
/** A node that was built before needs no Go. @type {(node: Parameters<typeof isBuilt>[0]) => string | null} */
const noNode = (node) => (isBuilt(node) ? null : lacks('go'));
const noGeth = () => noNode(GETH);
const noAvalanche = () => noNode(AVALANCHEGO);

/** In this order: the cheap ones first. @type {Record<string, {needs?: () => string | null, options?: string[], env?: NodeJS.ProcessEnv}>} */
const SUITES = {
  simulation: { env: { STRESS_SIMULATION_CASES: '5000' } },
  golden: {},
  fuzz: {},
  e2e: {},
  slow: { options: ['--test-concurrency=1'] },
  geth: { needs: noGeth },
  clients: { needs: () => noGeth() ?? noAvalanche() ?? noNode(EVMD) ?? noNode(ERIGON) ?? noNode(POLYGON_EDGE) },
  faults: { needs: noGeth },
  avalanche: { needs: noAvalanche },
  rotating: { needs: noAvalanche },
  ports: { needs: noRoot },
  collector: { needs: () => noNode(OTELCOL) },
  prometheus: { needs: () => lacks('prometheus') },
  browser: { needs: () => lacks('chromium') },
  slurm: { needs: noLab, options: ['--test-concurrency=1'] },
  k8s: { needs: noLab },
};

/**
 * @typedef {object} Result
 * @property {string} suite
 * @property {'passed' | 'FAILED' | 'skipped'} result
 * @property {number} seconds
 * @property {string} words
 */

/** @param {string} suite @returns {Promise<Result>} */
async function run(suite) {
  const { needs = () => null, options = [], env = {} } = SUITES[suite];
  const why = needs();
  if (why !== null) return { suite, result: 'skipped', seconds: 0, words: why };
  const startMs = performance.now();
  const child = spawn(process.execPath, [TEST, suite, '--test-reporter=tap', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  let tail = '';
  child.stdout.on('data', (chunk) => {
    process.stdout.write(chunk);
    tail = (tail + chunk).slice(-1000);
  });
  /** @type {number | null} */
  const code = await new Promise((resolve) => child.once('close', resolve));
  const count = (/** @type {string} */ name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(tail)?.[1] ?? 0);
  const words = ['pass', 'fail', 'cancelled', 'skipped'].map((name) => `${count(name)} ${name}`).join(', ');
  const isIdle = code === 0 && count('pass') === 0;
  const result = isIdle ? 'skipped' : code === 0 ? 'passed' : 'FAILED';
  return { suite, result, seconds: Math.round((performance.now() - startMs) / 1000), words };
}

async function main() {
  const { values } = parseArgs({ options: { only: { type: 'string' }, 'allow-missing': { type: 'boolean' } } });
  const names = values.only?.split(',') ?? Object.keys(SUITES);
  const unknown = names.filter((name) => SUITES[name] === undefined);
  if (unknown.length > 0) {
    console.error(`nightly: no suite ${unknown.join(', ')}: there are ${Object.keys(SUITES).join(', ')}`);
    process.exit(64);
  }
  /** @type {Result[]} */
  const results = [];
  for (const name of names) results.push(await run(name));
  const rows = results.map(({ suite, result, seconds, words }) => [suite, result, `${seconds} s`, words]);
  const table = [['suite', 'result', 'time', 'tests'], ['---', '---', '---:', '---'], ...rows];
  console.log(`\n${table.map((row) => `| ${row.join(' | ')} |`).join('\n')}`);
  const isBad = (/** @type {Result} */ { result }) =>
    result === 'FAILED' || (result === 'skipped' && !values['allow-missing']);
  if (results.some(isBad)) process.exitCode = 1;
}

await main();
