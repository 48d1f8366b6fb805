/** What stress compare writes for a CI server. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { exited } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { runOf } from '../laws/studies/runs.js';

it('the JUnit cases have the same names whatever was measured, and the verdict is in their output', async (t) => {
  const folder = temporaryFolder(t);
  /** @param {number} tps of the candidate */
  const junitOf = async (tps) => {
    const names = ['A', 'B', 'B', 'A'].map((side, i) => {
      const file = join(folder, `${side}-${i}.json`);
      writeFileSync(file, JSON.stringify(runOf(i, { tps: side === 'A' ? 100 : tps })));
      return { side, file };
    });
    const of = (/** @type {string} */ side) => names.filter((one) => one.side === side).map(({ file }) => file);
    const junit = join(folder, 'junit.xml');
    await exited(0, ['compare', ...of('A'), '--with', ...of('B'), '--junit', junit]);
    return readFileSync(junit, 'utf8');
  };
  const texts = [await junitOf(50), await junitOf(90)];
  for (const text of texts) {
    assert.deepEqual(text.match(/ name="[^"]*" time="0"/g), [' name="verdict" time="0"']);
    assert.match(text, /<system-out>2 pairs are too few for a verdict on TPS/);
  }
});
