/** A git repository of a chain (scripts/bench/null-chain.js) whose blocks become slower with one of its commits. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NULL_CHAIN = fileURLToPath(new URL('../../scripts/bench/null-chain.js', import.meta.url));

/**
 * @param {string} folder
 * @param {{commits: number, first: number, slower?: number, blockMs?: number}} plan first: the first bad commit, from 1; above commits: none
 * @returns {string[]} ids of the commits; the first is good
 */
export function makeRepository(folder, { commits, first, slower = 1.08, blockMs = 50 }) {
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
