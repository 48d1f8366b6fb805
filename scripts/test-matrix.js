/**
 * Runs the tests under other versions of node, taken from npm, each first in PATH and as process.execPath:
 *
 *     node scripts/test-matrix.js [suite...] [option of node --test...]
 *
 * The arguments are those of scripts/test.js. npx keeps the binaries in its cache.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAJORS = [22, 24];
const TEST_SCRIPT = fileURLToPath(new URL('test.js', import.meta.url));
const IS_WINDOWS = process.platform === 'win32';

/** The npm package that holds node's binary for this platform. */
const PACKAGE = [
  process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node',
  ...[IS_WINDOWS ? 'win' : process.platform, process.arch],
].join('-');

const results = MAJORS.map((major) => {
  const node = ['-y', '-p', `${PACKAGE}@${major}`, '--', 'node'];
  const version = spawnSync('npx', [...node, '--version'], { encoding: 'utf8', shell: IS_WINDOWS }).stdout.trim();
  console.log(`\n=== node ${version || major}`);
  if (!version.startsWith(`v${major}.`)) return { name: `node ${major}: npx gave "${version}"`, ok: false };
  const args = [...node, TEST_SCRIPT, ...process.argv.slice(2)];
  const { status } = spawnSync('npx', args, { stdio: 'inherit', shell: IS_WINDOWS });
  return { name: `node ${version}`, ok: status === 0 };
});
console.log('');
for (const { name, ok } of results) console.log(`${ok ? 'passed' : 'FAILED'}: ${name}`);
if (!results.every(({ ok }) => ok)) process.exitCode = 1;
