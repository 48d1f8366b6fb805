/**
 * Runs test suites with node's own test runner, under the node that runs this script:
 *
 *     node scripts/test.js [suite...] [option of node --test...]
 *
 * A suite is a folder of test/; npm run test:nightly runs those that are none of the first four.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DEFAULT_SUITES = ['laws', 'contracts', 'journeys', 'simulation'];
const SUITES = readdirSync(join(ROOT, 'test')).filter((name) => name !== 'fixtures' && name !== 'helpers');
/** Two processes for each of two cores, because journeys wait for blocks; a test that hangs fails, and has a name. */
const DEFAULTS = ['--test-concurrency=4', '--test-timeout=1800000'];

/**
 * The files are listed here, because `node --test` expands no patterns before Node 21. A folder with an index is one process.
 * @param {string} folder of the checkout
 * @returns {string[]}
 */
function testFiles(folder) {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  const index = entries.filter(({ name }) => name === 'index.test.js');
  return (index.length > 0 ? index : entries).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? testFiles(path) : path.endsWith('.test.js') ? [path] : [];
  });
}

/** @param {string[]} args @returns {string[]} the arguments of node */
function nodeArguments(args) {
  const options = args.filter((arg) => arg.startsWith('--'));
  const suites = args.filter((arg) => !arg.startsWith('--'));
  const unknown = suites.filter((suite) => !SUITES.includes(suite));
  if (unknown.length > 0) throw new Error(`no suite ${unknown.join(', ')}: there are ${SUITES.join(', ')}`);
  // The same report from every version of node: one for people on a terminal, TAP in a pipe or a file.
  const reporter = `--test-reporter=${process.stdout.isTTY ? 'spec' : 'tap'}`;
  const chosen = (suites.length > 0 ? suites : DEFAULT_SUITES).flatMap((suite) => testFiles(join('test', suite)));
  if (!options.some((option) => option.startsWith('--test-reporter'))) options.unshift(reporter);
  return ['--test', ...DEFAULTS, ...options, ...chosen];
}

try {
  const child = spawn(process.execPath, nodeArguments(process.argv.slice(2)), { cwd: ROOT, stdio: 'inherit' });
  // A terminal sends Ctrl-C to both; this script only has to outlive the tests.
  process.on('SIGINT', () => {});
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP'])) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => (process.exitCode = code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
} catch (error) {
  console.error(`scripts/test.js: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 64;
}
