/**
 * Runs test suites with node's own test runner, under the node that runs this script:
 *
 *     node scripts/test.js [suite...] [option of node --test...]
 *
 * A suite is a folder of test/. Without one: every suite but those that take long, build a real node first, or need
 * root or another program. The files are listed here, because `node --test` expands no patterns before Node 21.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DEFAULT_SUITES = ['unit', 'contract', 'e2e'];
const OTHER_SUITES = [
  'slow',
  'golden',
  'fuzz',
  'faults',
  'geth',
  'avalanche',
  'clients',
  'rotating',
  'ports',
  'prometheus',
  'browser',
  'slurm',
  'k8s',
];
/** End-to-end tests wait for blocks most of the time: two processes for each of two cores. */
const CONCURRENCY = 4;
/** Groups of end-to-end tests: with more than run at once, none of them ends long after the others. */
const GROUPS = 10;
/** About how many seconds files, and folders of small ones, take where four run at once on two cores. */
const SECONDS = Object.entries({
  60: 'studies contract dialects',
  40: 'sweep checkpoint workers plain-calls own-workload endpoints',
  30: 'endings submissions run-file unread-output merge workloads',
  22: 'mix common-start passing-faults instances mutants spend outputs terminal failures library',
  16: 'gas protocol pipelining calls find transfer inclusion bad-input',
  4: 'action other-platform logs thresholds start texts',
});
const OTHER_SECONDS = 11;
const TOGETHER = new URL('../test/helpers/together.js', import.meta.url).href;
/** It compares times, and runs last. */
const MEASURING = [join('test', 'e2e', 'open-loop.test.js')];

/** @param {string} suite @returns {string[]} its test files, relative to the checkout */
function testFiles(suite) {
  const folder = join('test', suite);
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(folder, name))
    .sort();
}

/** @param {string} path of a file or a folder */
function secondsOf(path) {
  const known = SECONDS.find(([, names]) => names.split(' ').includes(basename(path, '.test.js')));
  return Number(known?.[0] ?? OTHER_SECONDS);
}

/** @param {string[]} files @returns {string[][]} groups that take about as long as each other */
function dealt(files) {
  const groups = Array.from({ length: GROUPS }, () => ({ seconds: 0, files: /** @type {string[]} */ ([]) }));
  for (const file of files.toSorted((a, b) => secondsOf(b) - secondsOf(a))) {
    const least = groups.reduce((found, group) => (group.seconds < found.seconds ? group : found));
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return groups.map((group) => group.files);
}

/**
 * Starting node and loading the program takes longer than most tests: tests of one folder share a process, end-to-end
 * tests a few. `node --test` runs files in the order of their names, so that all are imported by
 * numbered ones.
 * @param {string[]} files
 * @param {string} folder for the files that import them
 * @returns {string[]} files for node --test
 */
function inOrder(files, folder) {
  const suiteOf = (/** @type {string} */ file) => file.split(sep)[1];
  if (!files.some((file) => DEFAULT_SUITES.includes(suiteOf(file)))) return files;
  const measuring = files.filter((file) => MEASURING.includes(file));
  const e2e = files.filter((file) => suiteOf(file) === 'e2e' && !measuring.includes(file));
  const small = files.filter((file) => ['unit', 'contract'].includes(suiteOf(file)));
  const alone = files.filter((file) => !DEFAULT_SUITES.includes(suiteOf(file)));
  const folders = [...new Set(small.map((file) => dirname(file)))].sort((a, b) => secondsOf(b) - secondsOf(a));
  const groups = [
    ...dealt(e2e),
    ...folders.map((name) => small.filter((file) => dirname(file) === name)),
    ...[...alone, ...measuring].map((file) => [file]),
  ].filter(({ length }) => length > 0);
  return groups.map((group, i) => {
    const path = join(folder, `${String(i).padStart(3, '0')}.test.mjs`);
    const shared = group.map((file) => ({ name: file, url: pathToFileURL(join(ROOT, file)).href }));
    writeFileSync(path, `import { runTogether } from '${TOGETHER}';\nrunTogether(${JSON.stringify(shared)});\n`);
    return path;
  });
}

/**
 * @param {string[]} args suites, and options for node (which start with --)
 * @param {string} folder for temporary files
 * @returns {string[]} the arguments of node
 */
function nodeArguments(args, folder) {
  const options = args.filter((arg) => arg.startsWith('--'));
  const suites = args.filter((arg) => !arg.startsWith('--'));
  const known = [...DEFAULT_SUITES, ...OTHER_SUITES];
  const unknown = suites.filter((suite) => !known.includes(suite));
  if (unknown.length > 0) throw new Error(`no suite ${unknown.join(', ')}: there are ${known.join(', ')}`);
  const chosen = suites.length > 0 ? suites : DEFAULT_SUITES;
  const files = chosen.flatMap(testFiles);
  // A suite that was asked for and is empty is a mistake; without any file node would look for some itself.
  const empty = chosen.filter((suite) => testFiles(suite).length === 0);
  if (files.length === 0 || (suites.length > 0 && empty.length > 0)) throw new Error(`no tests in ${empty.join(', ')}`);
  // The same report from every version of node: one for people on a terminal, TAP in a pipe or a file.
  const reporter = `--test-reporter=${process.stdout.isTTY ? 'spec' : 'tap'}`;
  const defaults = options.some((option) => option.startsWith('--test-reporter')) ? [] : [reporter];
  return ['--test', `--test-concurrency=${CONCURRENCY}`, ...defaults, ...options, ...inOrder(files, folder)];
}

/** @param {string[]} args */
function run(args) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-suites-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const child = spawn(process.execPath, nodeArguments(args, folder), { cwd: ROOT, stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    // A terminal sends Ctrl-C to both; this script only has to outlive the tests.
    process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
  }
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal ?? 'SIGTERM'];
  });
}

try {
  run(process.argv.slice(2));
} catch (error) {
  console.error(`scripts/test.js: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 64;
}
