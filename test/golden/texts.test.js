/** What users see without a chain: what the reading commands say of run files of release 0.1, and the help texts. */
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exited, runStress } from '../helpers/cli.js';
import { assertGolden } from './assert-golden.js';

const FIXTURES = fileURLToPath(new URL('../fixtures/runs-0.1', import.meta.url));
const runFiles = readdirSync(FIXTURES).filter((name) => name.endsWith('.json'));
const cells = (/** @type {number} */ threads) => [1, 2, 3, 4].map((n) => `sweep/cells/threads-${threads}_${n}.json`);

/** @type {Record<string, string[]>} */
const READERS = {
  ...Object.fromEntries(runFiles.map((file) => [`report-${file.replace('.json', '')}`, ['report', file]])),
  'report-sweep': ['report', 'sweep'],
  compare: ['compare', ...cells(2), '--with', ...cells(4), '--allow-different'],
  trend: ['trend', 'sweep'],
  merge: ['merge', 'merge'],
  explain: ['report', 'closed-loop.json', '--explain'],
};

describe('run files of release 0.1 are read', () => {
  for (const [name, args] of Object.entries(READERS)) {
    it(name, async () => {
      const { code, stdout, stderr } = await runStress(args, { cwd: FIXTURES });
      assertGolden(`${name}.txt`, `exit code ${code}\n${stderr}${stdout}`);
    });
  }
});

describe('help', () => {
  const commands = 'fund reclaim node sweep compare trend merge report new-workload learn completion'.split(' ');
  for (const [name, args] of [['stress', []], ...commands.map((command) => [command, [command]])])
    it(`of ${name}`, async () => {
      const { stdout } = await exited(0, [...args, '--help']);
      assertGolden(`help-${name}.txt`, stdout);
    });
});
