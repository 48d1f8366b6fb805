import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { makeRepository } from '../helpers/slowed-repository.js';
import { Stop } from '../../src/core/stop.js';
import { UnavailableError } from '../../src/errors.js';
import { bisect } from '../../src/studies/bisect.js';
import { readRange } from '../../src/studies/git-range.js';
import { equalBy } from '../helpers/equal-by.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { nodeProfileOf, runOf } from '../laws/studies/runs.js';
import { studied } from '../laws/studies/study.js';

/** @import { TestContext } from 'node:test' */

const COMMITS = 12;

/** @param {TestContext} t @param {number} first the first bad commit */
function repositoryOf(t, first) {
  const folder = temporaryFolder(t);
  const repository = join(folder, 'repository');
  mkdirSync(repository);
  const ids = makeRepository(repository, { commits: COMMITS, first });
  return { folder, repository, ids };
}

/**
 * @param {{folder: string, repository: string, ids: string[]}} where
 * @param {{first?: number, factor?: number, hashing?: number, args?: string[], stop?: Stop, stopAt?: number, broken?: string[]}} [given]
 *   factor: of TPS from the first bad commit on; hashing: of its CPU time in the profile of the node; broken: ids that do not start
 */
function bisected({ folder, repository, ids }, given = {}) {
  const {
    first = 5,
    factor = 0.92,
    hashing = null,
    args = [],
    stop = new Stop(),
    stopAt = Infinity,
    broken = [],
  } = given;
  let current = 0;
  /** @type {any} */
  const startNode = async (/** @type {{cwd: string}} */ { cwd }) => {
    current = ids.findIndex((id) => id.startsWith(basename(cwd)));
    if (broken.includes(ids[current])) throw new UnavailableError('--start: it ended (exit code 1)');
    return { stop: async () => {} };
  };
  const line = ['bisect', `--good=${ids[0]}`, `--bad=${ids[COMMITS]}`, `--repository=${repository}`, '--start=./node'];
  const load = ['--rpc=http://127.0.0.1:8001', '-t=10', '-d=20s', `--dir=${join(folder, 'study')}`, '--seed=5'];
  return studied(
    async (config, parts, tools) => (await bisect(config, parts, { ...tools, startNode })).exitCode,
    [...line, ...load, ...args],
    ({ number }) => {
      if (number === stopAt) stop.request('interrupted', 130);
      const noise = 1 + 0.01 * Math.sin(12.9898 * number);
      const isBad = current >= first;
      const over = hashing === null ? {} : { nodeProfile: nodeProfileOf(isBad ? hashing : 1, noise) };
      return { run: number >= stopAt ? null : runOf(number, { tps: 1000 * noise * (isBad ? factor : 1), over }) };
    },
    stop,
  );
}

/** @param {string} folder */
function fileIn(folder) {
  return JSON.parse(readFileSync(join(folder, 'study', 'bisect.json'), 'utf8'));
}

describe('bisect()', () => {
  it('names the commit, and builds each commit once', async (t) => {
    const where = repositoryOf(t, 5);
    const { result, lines, runs } = bisected(where, { args: ['--build=echo "$STRESS_COMMIT" >> ../../built'] });
    assert.equal(await result, 0);
    const file = fileIn(where.folder);
    const named = where.ids[5].slice(0, 7);
    assert.deepEqual([file.result.reason, file.result.to], ['found', where.ids[5]]);
    assert.match(
      lines.join('\n'),
      new RegExp(`\n${named} \\(Write blocks with more care\\) changes tps by -[78](\\.\\d+)? % with 9\\d`),
    );
    assert.match(lines.join('\n'), /\n\d+ {2}\w{7} {2}tps [+-]\d(\.\d+)? % {2}most probable \w{7} \(\d+.*%\)\n/);
    assert.equal(runs.length, 2 * file.pairs.length);
    const built = readFileSync(join(where.folder, 'study', 'built'), 'utf8')
      .trim()
      .split('\n');
    assert.equal(new Set(built).size, built.length);
    const orders = new Set(file.pairs.map((/** @type {any} */ { isGoodFirst }) => isGoodFirst));
    assert.equal(orders.size, 2, 'the order is drawn by chance');
    const git = ['-C', where.repository, 'status', '--porcelain'];
    assert.equal(execFileSync('git', git, { encoding: 'utf8' }), '', 'the repository is not touched');
    const again = bisected(where, { args: ['--build=echo "$STRESS_COMMIT" >> ../../built'] });
    assert.equal(await again.result, 0);
    assert.equal(again.runs.length, 0, 'the result is known');
  });

  it('says what the CPU time of the node went to from that commit on', async (t) => {
    const where = repositoryOf(t, 5);
    const { result, lines } = bisected(where, { hashing: 2 });
    assert.equal(await result, 0);
    const { notes } = fileIn(where.folder).result;
    const named = where.ids[5].slice(0, 7);
    assert.equal(notes.length, 1);
    assert.match(
      notes[0],
      new RegExp(`^the node of "${named}" needs .* ms more CPU for an operation .*state trie \\+`),
    );
    assert.ok(lines.join('\n').includes(notes[0]));
  });

  it('continues after an interrupt with the pairs that are complete, and refuses another bisection', async (t) => {
    const where = repositoryOf(t, 5);
    const cut = bisected(where, { stopAt: 10 });
    assert.equal(await cut.result, 130);
    assert.match(
      cut.lines.join('\n'),
      /\nthe bisection has not ended: 4 pairs\ninterrupted: the same command continues\n/,
    );
    const { pairs } = fileIn(where.folder);
    const rest = bisected(where);
    assert.equal(await rest.result, 0);
    assert.match(rest.lines.join('\n'), /^9 runs kept, already in .*study$/m);
    assert.deepEqual(fileIn(where.folder).pairs.slice(0, 4), pairs);
    await assert.rejects(bisected(where, { args: ['--metric=p99'] }).result, {
      exitCode: 65,
      message: /holds another study: --metric was tps and is p99; give --dir/,
    });
  });

  it('skips commits that do not build or start, and says so', async (t) => {
    const where = repositoryOf(t, 5);
    const args = ['--build=test "$(cat notes)" != 5 || { echo no compiler; exit 125; }'];
    const { result, lines } = bisected(where, { args, broken: [where.ids[6]] });
    assert.equal(await result, 75);
    assert.match(
      lines.join('\n'),
      /skipped \w{7}: does not build \(--build\): exit code 125; its last words: no compiler/,
    );
    assert.match(lines.join('\n'), /skipped \w{7}: a run at \w{7} measured nothing: --start: it ended/);
    const [words] = lines.slice(-2);
    const [from, to] = [where.ids[5], where.ids[7]].map((id) => id.slice(0, 7));
    assert.match(
      words,
      new RegExp(`^the first bad commit is one of 3, from ${from} to ${to}, .* or commits that can be tested$`),
    );
    const again = bisected(where, { args });
    assert.equal(await again.result, 75);
    assert.equal(again.runs.length, 0, 'what was skipped is skipped at the same step');
  });

  it('does not skip a commit whose build found the disk full', async (t) => {
    const where = repositoryOf(t, 5);
    const build = "test -e ../../../room || { echo 'No space left on device'; echo Error 2; echo; exit 2; }";
    const args = [`--build=test "$(cat notes)" != 5 || ${build}`];
    await assert.rejects(bisected(where, { args }).result, {
      exitCode: 73,
      message: /^cannot build commit \w{7} in .*: the disk is full$/,
    });
    writeFileSync(join(where.folder, 'room'), '');
    const rest = bisected(where, { args });
    assert.equal(await rest.result, 0);
    assert.match(rest.lines.join('\n'), /^\d+ runs kept, already in .*study$/m);
    assert.equal(fileIn(where.folder).result.to, where.ids[5]);
  });

  it('ends if the ends of the range cannot be tested', async (t) => {
    const where = repositoryOf(t, 5);
    const unbuilt = bisected(where, { args: ['--build=echo bad flag; exit 2'] });
    await assert.rejects(unbuilt.result, {
      exitCode: 65,
      message: /^commit \w{7} does not build \(--build\): exit code 2; its last words: bad flag/,
    });
    // With another --build, because no pair was made.
    await assert.rejects(bisected(where, { broken: [where.ids[0]] }).result, {
      exitCode: 69,
      message: /^a run at \w{7} measured nothing: --start: it ended/,
    });
  });

  it('says that the bad commit is not worse, or that both are exchanged', async (t) => {
    const where = repositoryOf(t, 5);
    const equal = bisected(where, { factor: 1 });
    assert.equal(await equal.result, 0);
    assert.match(equal.lines.at(-2) ?? '', /^--bad \w{7} is not worse than --good: tps is at most 2 % worse \(95 %/);
    const other = { ...where, folder: temporaryFolder(t) };
    const better = bisected(other, { factor: 1.2 });
    assert.equal(await better.result, 65);
    assert.match(better.lines.at(-2) ?? '', /is better than --good: tps changed by \+\d+\.\d % .*; exchange them$/);
  });

  it('says between which commits it is where the time is over', async (t) => {
    const where = repositoryOf(t, 5);
    const { result, lines } = bisected(where, { args: ['--time-limit=170s'] });
    assert.equal(await result, 75);
    assert.match(
      lines.at(-2) ?? '',
      /^the first bad commit is one of \d+, from .* fewer commits need longer runs|^undecided/,
    );
    assert.ok(existsSync(join(where.folder, 'study', 'runs')));
    assert.ok(readdirSync(join(where.folder, 'study', 'runs')).length <= 16);
    const one = bisected({ ...where, folder: temporaryFolder(t) }, { args: ['--time-limit=41s'] });
    assert.equal(await one.result, 75);
    assert.match(
      one.lines.at(-2) ?? '',
      /^undecided whether .*: too few pairs \(\d\); give more time \(--time-limit\)$/,
    );
  });
});

describe('readRange()', () => {
  it('follows first parents, and refuses what is no line of commits', async (t) => {
    const { repository, ids, folder } = repositoryOf(t, 5);
    const git = (/** @type {string[]} */ ...args) =>
      execFileSync('git', ['-C', repository, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { stdio: 'pipe' });
    git('checkout', '-q', '-b', 'side', ids[3]);
    git('commit', '-q', '--allow-empty', '-m', 'Aside');
    git('checkout', '-q', '-');
    git('checkout', '-q', '-B', 'main', ids[COMMITS]);
    git('merge', '-q', '--no-ff', 'side', '-m', 'Merge side');
    const range = await readRange(repository, { good: ids[0], bad: 'main' });
    equalBy(range.commits.slice(0, COMMITS), ({ id }) => id, ids.slice(1));
    assert.deepEqual([range.commits.length, range.merges, range.isDirty], [COMMITS + 1, 1, false]);
    assert.equal(range.commits[4].subject, 'Write blocks with more care');
    writeFileSync(join(repository, 'notes'), 'changed');
    assert.equal((await readRange(repository, { good: ids[0], bad: 'main' })).isDirty, true);
    const bad = /** @type {const} */ ([
      [ids[2], ids[2], /^--good \w{7} is not before --bad \w{7} on its first-parent line: give two commits/],
      [ids[4], ids[2], /^--good \w{7} is after --bad \w{7}: exchange them$/],
      ['side', ids[6], /is not before/],
      ['side', 'main', /is not before/],
      ['nothing', 'main', /^--good nothing: no such commit in /],
      ['--upload-pack=x', 'main', /no such commit in /],
    ]);
    for (const [goodName, badName, message] of bad)
      await assert.rejects(readRange(repository, { good: goodName, bad: badName }), { exitCode: 65, message });
    await assert.rejects(readRange(folder, { good: 'a', bad: 'b' }), {
      exitCode: 65,
      message: /is not a git repository/,
    });
  });
});
