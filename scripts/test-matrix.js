/**
 * Runs the tests under other versions of node, taken from npm, each first in PATH and as process.execPath:
 *
 *     node scripts/test-matrix.js [suite...] [option of node --test...]
 *
 * The arguments are those of scripts/test.js. The binaries stay in a cache outside of the checkout.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAJORS = [22, 24];
const TEST_SCRIPT = fileURLToPath(new URL('test.js', import.meta.url));

/** @returns {string} the cache folder of this project's scripts */
function cacheFolder() {
  const { EVM_STRESS_CACHE, XDG_CACHE_HOME } = process.env;
  return resolve(EVM_STRESS_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'evm-stress'));
}

/** @returns {string} the npm package that holds node's binary for this platform */
function nodePackage() {
  const os = process.platform === 'win32' ? 'win' : process.platform;
  const prefix = os === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
  return `${prefix}-${os}-${process.arch}`;
}

/** @param {number} major @returns {string} the path of a node binary of that major version */
function installNode(major) {
  const folder = join(cacheFolder(), `node-${major}`);
  mkdirSync(folder, { recursive: true });
  const wanted = `${nodePackage()}@${major}`;
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = spawnSync('npm', ['install', '--prefix', folder, ...quiet, wanted], {
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (npm.status !== 0) throw new Error(`could not install ${wanted}: ${npm.error?.message ?? 'npm failed'}`);
  const home = join(folder, 'node_modules', nodePackage());
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  return join(home, bin.node);
}

/** @param {string} binary @param {number} major @returns {string} its version, from what it says itself */
function versionOf(binary, major) {
  const version = spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? '';
  if (!version.startsWith(`v${major}.`)) throw new Error(`${binary} should be node ${major}, but says "${version}"`);
  return version;
}

/** @param {number} major @param {string[]} args @returns {{ name: string, ok: boolean }} */
function testUnder(major, args) {
  const binary = installNode(major);
  const name = `node ${versionOf(binary, major)}`;
  console.log(`\n=== ${name}: scripts/test.js ${args.join(' ')}`);
  const PATH = [dirname(binary), process.env.PATH].join(delimiter);
  const { status } = spawnSync(binary, [TEST_SCRIPT, ...args], { stdio: 'inherit', env: { ...process.env, PATH } });
  return { name, ok: status === 0 };
}

/** @type {{ name: string, ok: boolean }[]} */
const results = [];
for (const major of MAJORS) {
  try {
    results.push(testUnder(major, process.argv.slice(2)));
  } catch (error) {
    console.error(`node ${major}: ${/** @type {Error} */ (error).message}`);
    results.push({ name: `node ${major}`, ok: false });
  }
}
console.log('');
for (const { name, ok } of results) console.log(`${ok ? 'passed' : 'FAILED'}: ${name}`);
if (!results.every(({ ok }) => ok)) process.exitCode = 1;
