/**
 * What users see, held against files: the members of run files of twelve runs, and the text of the reading commands for
 * run files of release 0.1. GOLDEN=write makes the expected files anew; each change in them is to be looked at.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startAnvil } from '../helpers/anvil.js';
import { spawnStress } from '../helpers/cli.js';
import { schemaErrors } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { masked } from './mask.js';
import { SCENARIOS, runScenario } from './scenarios.js';

const EXPECTED = fileURLToPath(new URL('expected', import.meta.url));
const FIXTURES = fileURLToPath(new URL('../fixtures/runs-0.1', import.meta.url));

/** @param {string} name @param {string} text */
function assertGolden(name, text) {
  const file = join(EXPECTED, name);
  if (process.env.GOLDEN === 'write') {
    mkdirSync(EXPECTED, { recursive: true });
    writeFileSync(file, text);
  } else assert.equal(text, readFileSync(file, 'utf8'), `${name}: GOLDEN=write accepts what is new`);
}

describe('run files keep their members', () => {
  for (const [name, { code: expectedCode = 0 }] of Object.entries(SCENARIOS)) {
    it(name, async (t) => {
      const chain = await startAnvil({ args: ['-b', '0.1'] });
      t.after(chain.stop);
      const { code, stderr, file } = await runScenario(name, chain, temporaryFolder(t));
      assert.equal(code, expectedCode, stderr);
      const run = JSON.parse(readFileSync(file, 'utf8'));
      assert.deepEqual(schemaErrors(run), []);
      assert.equal(run.audit?.exact ?? null, run.environment.inclusion === null ? null : true);
      assertGolden(`run-${name}.json`, `${JSON.stringify(masked(run), null, 1)}\n`);
    });
  }
});

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
      const { code, stdout, stderr } = await spawnStress(args, { cwd: FIXTURES }).done;
      assertGolden(`${name}.txt`, `exit code ${code}\n${stderr}${stdout}`);
    });
  }
});

const COMMANDS = [
  '',
  'fund',
  'reclaim',
  'node',
  'sweep',
  'compare',
  'trend',
  'merge',
  'report',
  'new-workload',
  'completion',
];

describe('help', () => {
  for (const command of COMMANDS) {
    it(command === '' ? 'of the main job' : command, async () => {
      const { code, stdout } = await spawnStress([...(command === '' ? [] : [command]), '--help']).done;
      assert.equal(code, 0);
      assertGolden(`help-${command === '' ? 'stress' : command}.txt`, stdout);
    });
  }
});
