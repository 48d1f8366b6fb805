/**
 * Checks what a user gets: packs the package, installs the tarball in an empty folder and makes one short
 * run there, on the chain that the tool brings along.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MINUTE_MS = 60_000;
const RUN_LIMIT_MS = 90_000;
/** How long a run may take to clean up after itself before its whole process group is killed. */
const GRACE_MS = 10_000;

/**
 * Runs a command to its end and throws, with all of its output, unless it ends well and in time.
 * @param {string} cwd
 * @param {number} limitMs
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<string>} its output
 */
function run(cwd, limitMs, command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
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
        if (code === 0 && !late) return resolve(output);
        const how = late ? `did not end within ${limitMs / 1000} s` : `ended with ${signal ?? `exit code ${code}`}`;
        reject(new Error(`${line}\n${how}. Its output:\n${output.trim() || '(none)'}`));
      }, 100);
    });
  });
}

/**
 * @param {string} path of a run's result
 * @returns {any} its count of verified transactions, or what is wrong with the file
 */
function verifiedIn(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).counts?.verified;
  } catch (error) {
    return `unreadable (${/** @type {Error} */ (error).message})`;
  }
}

/** @param {string} folder an empty one */
async function smoke(folder) {
  const app = join(folder, 'app');
  mkdirSync(app);
  await run(ROOT, 2 * MINUTE_MS, 'npm', ['pack', '--pack-destination', folder]);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (!tarball) throw new Error('npm pack wrote no tarball');
  const install = ['install', '--prefix', app, '--ignore-scripts', '--no-audit', '--no-fund'];
  await run(app, 5 * MINUTE_MS, 'npm', [...install, join(folder, tarball)]);
  const command = join('node_modules', '.bin', 'stress');
  const said = await run(app, RUN_LIMIT_MS, command, ['-t', '5', '-o', '0', '-d', '2s', '--out', 'run.json']);
  const verified = verifiedIn(join(app, 'run.json'));
  if (!(verified > 0))
    throw new Error(`counts.verified in run.json should be > 0, but is ${verified}. Output:\n${said}`);
  return `${tarball} installed and ran: ${verified} transactions verified`;
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
