/** Writes docs/faults.md once every row of the matrix has been carried out and has held. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { format, resolveConfig } from 'prettier';
import { equalBy } from '../helpers/equal-by.js';
import { ROOT } from '../helpers/cli.js';
import { documentOf } from './document.js';
import { ROWS_FOLDER, allResults } from './results.js';

const FILE = join(ROOT, 'docs', 'faults.md');

/** Two test files run at a time: the other one may have its longest tests before it. */
const WAIT_MS = 900_000;

test('the document', async (t) => {
  if (!existsSync(ROWS_FOLDER)) return t.skip('it is made of the rows of the whole suite');
  const own = basename(import.meta.filename);
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.js') && name !== own);
  const deadlineMs = Date.now() + WAIT_MS;
  let rows = allResults(files.sort());
  while (rows === null && Date.now() < deadlineMs) {
    await sleep(500);
    rows = allResults(files);
  }
  assert.ok(rows !== null, 'some rows were not carried out');
  rmSync(ROWS_FOLDER, { recursive: true });
  const failed = rows.filter(({ problems }) => problems.length > 0);
  equalBy(failed, ({ group, fault }) => `${group}: ${fault}`, []);
  writeFileSync(FILE, await format(documentOf(rows), { ...(await resolveConfig(FILE)), parser: 'markdown' }));
});
