/**
 * Checks what a user gets: packs the package, installs the tarball in an empty folder, install scripts included, and
 * makes one short run there, on the embedded chain. Then the same on a platform for which no package has a binary and
 * no compiler is found: the embedded chain is refused in one line, and a run with --rpc signs with WebAssembly.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDevChain } from '../src/chain/devchain.js';
import { createCurve } from '../src/chain/keys.js';
import { createClock } from '../src/clock.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MINUTE_MS = 60_000;
const RUN_LIMIT_MS = 90_000;
/** How long a run may take to clean up after itself before its whole process group is killed. */
const GRACE_MS = 10_000;

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
function run(cwd, limitMs, command, args, { env = {}, expected = 0 } = {}) {
  return new Promise((resolve, reject) => {
    const environment = { ...process.env, ...env };
    const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: environment });
    const line = [command, ...args].join(' ');
    let output = '';
    let late = false;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const killGroup = () => {
      try {
        process.kill(-(/** @type {number} */ (child.pid)), 'SIGKILL');
      } catch {
        // Nothing is left of it.
      }
    };
    /** @type {NodeJS.Timeout | undefined} */
    let grace;
    const stop = () => {
      child.kill('SIGTERM');
      grace ??= setTimeout(killGroup, GRACE_MS);
    };
    const limit = setTimeout(() => {
      late = true;
      stop();
    }, limitMs);
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
    child.on('error', reject);
    // 'exit' and not 'close': a process it left behind may hold the pipes open.
    child.on('exit', (code, signal) => {
      clearTimeout(limit);
      clearTimeout(grace);
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop);
      setTimeout(() => {
        killGroup();
        if (code === expected && !late) return resolve(output);
        const how = late ? `did not end within ${limitMs / 1000} s` : `ended with ${signal ?? `exit code ${code}`}`;
        reject(new Error(`${line}\n${how}. Its output:\n${output.trim() || '(none)'}`));
      }, 100);
    });
  });
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
