import { execFile } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { launch } from '../chain/devchain.js';
import { InputError, OutputError, UnavailableError, displayName, oneLine } from '../errors.js';

/**
 * Reads commits from a git repository, and makes checkouts of them. The repository and its work tree are never changed.
 *
 * @import { Readable } from 'node:stream'
 *
 * @typedef {object} Commit
 * @property {string} id
 * @property {string} subject
 *
 * @typedef {object} Range
 * @property {Commit} good
 * @property {Commit[]} commits after the good one, each the first parent of the next; the last one is the bad commit
 * @property {number} merges among them
 * @property {boolean} isDirty the work tree has changes that are in no commit
 */

const run = promisify(execFile);

const MOST_BYTES = 256 * 1024 * 1024;

/** A hook of git sets variables that name another repository. */
function environment() {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  return { ...Object.fromEntries(own), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' };
}

/** @param {string} folder @param {string[]} args @returns {Promise<string | null>} null: git ended with an exit code that is not 0 @throws {UnavailableError} */
async function git(folder, ...args) {
  try {
    const { stdout } = await run('git', ['-C', folder, ...args], { env: environment(), maxBuffer: MOST_BYTES });
    return stdout.trimEnd();
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (typeof code === 'number') return null;
    throw new UnavailableError(
      `cannot run git: ${code === 'ENOENT' ? 'it is not installed; install it' : oneLine(message)}`,
    );
  }
}

/**
 * @param {string} repository
 * @param {{good: string, bad: string}} names as the user wrote them
 * @returns {Promise<Range>}
 * @throws {InputError}
 */
export async function readRange(repository, names) {
  const where = displayName(repository);
  if (!existsSync(repository) || (await git(repository, 'rev-parse', '--git-dir')) === null)
    throw new InputError(`${where} is not a git repository: give --repository DIR`);
  const [good, bad] = await Promise.all([
    commitOf(repository, '--good', names.good),
    commitOf(repository, '--bad', names.bad),
  ]);
  const line = ['log', '--first-parent', '--reverse', '--format=%H%x00%P%x00%s', `${good}..${bad}`];
  const rows = ((await git(repository, ...line)) ?? '').split('\n').map((row) => row.split('\0'));
  const isAfter = rows[0][0] === '' && good !== bad;
  if ((rows[0][1] ?? '').split(' ')[0] !== good)
    throw new InputError(
      isAfter
        ? `--good ${short(good)} is after --bad ${short(bad)}: exchange them`
        : `--good ${short(good)} is not before --bad ${short(bad)} on its first-parent line: give two commits of one line`,
    );
  return {
    good: { id: good, subject: (await git(repository, 'log', '-1', '--format=%s', good)) ?? '' },
    commits: rows.map(([id, , subject]) => ({ id, subject })),
    merges: rows.filter(([, parents]) => parents.includes(' ')).length,
    isDirty:
      ((await git(repository, '--no-optional-locks', 'status', '--porcelain', '--untracked-files=no')) ?? '') !== '',
  };
}

/** @param {string} repository @param {string} option @param {string} name */
async function commitOf(repository, option, name) {
  const id = await git(repository, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`);
  if (id === null) throw new InputError(`${option} ${oneLine(name, 60)}: no such commit in ${displayName(repository)}`);
  return id;
}

/** @param {string} id */
export function short(id) {
  return id.slice(0, 7);
}

/**
 * A clone that shares the objects of the repository: unlike a git worktree it leaves no trace there, and unlike git
 * archive it has the history, of which many builds make their version.
 * @param {string} repository
 * @param {string} id
 * @param {string} folder is there completely, or not at all
 */
export async function checkOut(repository, id, folder) {
  if (existsSync(folder)) return;
  const unfinished = `${folder}.part`;
  rmSync(unfinished, { recursive: true, force: true });
  const steps = [
    ['clone', '--quiet', '--shared', '--no-checkout', resolve(repository), unfinished],
    ['-C', unfinished, 'checkout', '--quiet', '--detach', id],
  ];
  for (const step of steps) {
    const why = await write(step);
    if (why !== null) throw new OutputError(`cannot check out ${short(id)} to ${displayName(folder)}: ${why}`);
  }
  renameSync(unfinished, folder);
}

/** git that changes files: it ends with this process, so that the next bisection finds nothing at work in its folder. @param {string[]} args @returns {Promise<string | null>} its last line if it failed */
async function write(args) {
  const { keeper, ended } = launch(['git', ...args], { graceMs: 0 }, { env: environment(), output: 'pipe' });
  keeper.stdout?.resume();
  const [words, exit] = await Promise.all([text(/** @type {Readable} */ (keeper.stderr)), ended]);
  return exit === 'exit code 0' ? null : oneLine(words.trim().split('\n').at(-1) || exit);
}
