/**
 * Checks what a user gets: packs the package, installs the tarball in an empty folder, install scripts included, and
 * makes one short run there, on the embedded chain. Then the same on a platform for which no package has a binary and
 * no compiler is found: the embedded chain is refused in one line, and a run with --rpc signs with WebAssembly.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startDevChain } from '../src/chain/devchain.js';
import { createCurve } from '../src/chain/keys.js';
import { createClock } from '../src/clock.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MINUTE_MS = 60_000;
const RUN_LIMIT_MS = 90_000;

/** Node on another platform, as far as programs can tell, and without a compiler for what has no binary there. */
const OTHER_PLATFORM = {
  NODE_OPTIONS: `--import=data:text/javascript,Object.defineProperty(process,'platform',{value:'freebsd'})`,
  CC: 'false',
  CXX: 'false',
};
const STRESS = join('node_modules', '.bin', 'stress');

/**
 * Runs a command to its end and throws, with all of its output, unless it ends as expected and in time.
 * @param {string} cwd
 * @param {number} limitMs
 * @param {string} command
 * @param {string[]} args
 * @param {{env?: NodeJS.ProcessEnv, expected?: number}} [options] env is added to ours; expected: the exit code
 * @returns {Promise<string>} its output
 */
async function run(cwd, limitMs, command, args, { env = {}, expected = 0 } = {}) {
  const options = { cwd, env: { ...process.env, ...env }, timeout: limitMs, maxBuffer: 2 ** 26 };
  const ended = await promisify(execFile)(command, args, options).catch((error) => error);
  const { code = 0, signal, stdout, stderr } = ended;
  const output = `${stdout}${stderr}`;
  if (code === expected) return output;
  const how = signal == null ? `ended with ${code}` : `did not end within ${limitMs / 1000} s`;
  throw new Error(`${[command, ...args].join(' ')}\n${how}. Its output:\n${output.trim() || '(none)'}`);
}

/** @param {string} tarball @param {string} app where to, an empty folder @param {NodeJS.ProcessEnv} [env] */
async function install(tarball, app, env) {
  mkdirSync(app);
  const options = ['--prefix', app, '--ignore-scripts=false', '--no-audit', '--no-fund'];
  await run(app, 5 * MINUTE_MS, 'npm', ['install', ...options, tarball], { env });
}

/**
 * @param {string} app
 * @param {string[]} args
 * @param {string} signer
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<number>} how many transactions were verified
 */
async function shortRun(app, args, signer, env) {
  const said = await run(app, RUN_LIMIT_MS, STRESS, [...args, '-d', '2s', '--out', 'run.json'], { env });
  const { counts, environment } = JSON.parse(readFileSync(join(app, 'run.json'), 'utf8'));
  if (!(counts.verified > 0)) throw new Error(`nothing was verified. Output:\n${said}`);
  if (environment.signer !== signer) throw new Error(`${environment.signer} signed instead of ${signer}`);
  return counts.verified;
}

/** @param {string} app where it is installed without any binary */
async function withoutBinaries(app) {
  const refusal = await run(app, RUN_LIMIT_MS, STRESS, ['-t', '1', '-d', '2s'], {
    env: OTHER_PLATFORM,
    expected: 69,
  });
  if (!/^stress: .+ --rpc\n$/.test(refusal)) throw new Error(`expected one line that names --rpc, not:\n${refusal}`);
  const chain = await startDevChain(createClock());
  try {
    return await shortRun(app, ['--rpc', chain.url.href, '-t', '1'], 'tiny-secp256k1', OTHER_PLATFORM);
  } finally {
    await chain.stop();
  }
}

/** @param {string} folder an empty one */
async function smoke(folder) {
  await run(ROOT, 2 * MINUTE_MS, 'npm', ['pack', '--pack-destination', folder]);
  const name = readdirSync(folder).find((entry) => entry.endsWith('.tgz'));
  if (!name) throw new Error('npm pack wrote no tarball');
  const here = join(folder, 'here');
  await install(join(folder, name), here);
  const other = join('node_modules', '.bin', 'evm-stress');
  const [version, same] = await Promise.all([STRESS, other].map((bin) => run(here, RUN_LIMIT_MS, bin, ['--version'])));
  if (version !== same) throw new Error(`evm-stress --version says ${same}, and stress ${version}`);
  const blobs = join('node_modules', 'evm-stress', 'docs', 'examples', 'blobs.js');
  const lacking = await run(here, RUN_LIMIT_MS, STRESS, ['-t', '1', '-d', '2s', '--workload', blobs], { expected: 69 });
  if (!/^stress: .+; npm install kzg-wasm\n$/.test(lacking))
    throw new Error(`expected one line that names the KZG library, not:\n${lacking}`);
  const verified = await shortRun(here, ['-t', '5', '-o', '0'], createCurve().name);
  const elsewhere = join(folder, 'elsewhere');
  await install(join(folder, name), elsewhere, OTHER_PLATFORM);
  const signed = await withoutBinaries(elsewhere);
  return `${name} installed and ran: ${verified} transactions verified; ${signed} on a platform without binaries`;
}

const folder = mkdtempSync(join(tmpdir(), 'evm-stress-smoke-'));
try {
  console.log(`smoke: ${await smoke(folder)}`);
} catch (error) {
  console.error(`smoke FAILED: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
