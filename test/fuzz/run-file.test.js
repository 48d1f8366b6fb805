/** A changed run file gives a summary, or one line that says what is wrong. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { printable } from '../../src/text.js';
import { summaryText } from '../../src/outputs/summary.js';
import { reader } from '../../src/studies/run-files.js';
import { exited } from '../helpers/cli.js';
import { anyJson, assertHides, fuzz, nonsense, outcomeOf, secret } from './inputs.js';
import { temporaryFolder } from '../helpers/temporary.js';

const wrongValue = fc.oneof(
  fc.constantFrom(null, -1, 0, 1e308, 0.5, '', 'x'.repeat(5000), [], {}, true, '\u001b]0;title\u0007\u001b[2J', 'a\nb'),
  nonsense,
  anyJson,
);

const change = fc.record({
  /** Which way down from the top, how far, and what happens there. */
  way: fc.array(fc.nat(60), { minLength: 1, maxLength: 6 }),
  how: fc.constantFrom('replace', 'replace', 'replace text', 'drop', 'add', 'twice'),
  value: wrongValue,
  hidden: secret,
});

/** @typedef {typeof change extends fc.Arbitrary<infer T> ? T : never} Change */

/** @param {any} run @param {Change} change */
function apply(run, { way, how, value, hidden }) {
  let at = run;
  for (const [depth, step] of way.entries()) {
    const names = Object.keys(at);
    const name = names[step % Math.max(1, names.length)];
    const inner = at[name];
    if (depth < way.length - 1 && typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0) {
      at = inner;
      continue;
    }
    if (how === 'drop') delete at[name];
    else if (how === 'add') at[hidden.text] = value;
    else if (how === 'twice' && Array.isArray(at)) at.push(...at);
    else if (how === 'replace text' && typeof inner === 'string')
      at[name] = `${inner}\u001b[31m\n${JSON.stringify(value)}`;
    else if (name !== undefined) at[name] = value;
    return;
  }
}

test('fuzz: run files', async (t) => {
  const folder = temporaryFolder(t);
  const [whole, file] = ['run.json', 'changed.json'].map((name) => join(folder, name));
  await exited(0, ['-t', '2', '-d', '300ms', '--interval', '100ms', '--out', whole, '-q']);
  const text = readFileSync(whole, 'utf8');
  /** @param {string} given */
  const report = (given) => {
    writeFileSync(file, given);
    return outcomeOf(async () => {
      const run = (await reader('run'))(file);
      return printable(summaryText(run, true));
    });
  };
  assert.equal((await report(text)).error, null, 'the unchanged file is a run file');

  const input = fc.oneof(
    { weight: 8, arbitrary: fc.array(change, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.nat(text.length) },
    { weight: 1, arbitrary: anyJson.map((json) => JSON.stringify(json)) },
  );
  let accepted = 0;
  await fuzz(t, { input, runs: 80, seconds: 10 }, async (given) => {
    const changes = Array.isArray(given) ? /** @type {Change[]} */ (given) : [];
    const run = JSON.parse(text);
    for (const one of changes) apply(run, one);
    const changed =
      typeof given === 'number' ? text.slice(0, given) : typeof given === 'string' ? given : JSON.stringify(run);
    const { value, said } = await report(changed);
    if (value === undefined) {
      assertHides(
        said,
        changes.flatMap(({ hidden }) => hidden.secrets),
      );
      return;
    }
    accepted += 1;
    assert.doesNotMatch(value, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/);
  });
  t.diagnostic(`${accepted} of them could be read`);
});
