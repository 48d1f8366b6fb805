/** The same load on the same chain, whose refusals are in the words of one client or another: the same end. */
import assert from 'node:assert/strict';
import { before, describe, it, mock } from 'node:test';
import { CLIENTS, SITUATIONS, speaks } from './client-words.js';
import { ACCUSATIONS } from '../helpers/dialects.js';
import { simulatedRun } from '../helpers/simulated-run.js';

/** @import { Situation, Words } from './client-words.js' */

/** @param {Words} words @param {Situation} situation */
async function endOf(words, situation) {
  const {
    code,
    words: said,
    run,
    executed,
  } = await simulatedRun(`-t 2 -d 6s ${situation.args ?? ''}`, speaks(words, situation));
  for (const pattern of ACCUSATIONS) assert.doesNotMatch(said, pattern);
  assert.ok(run !== null, said);
  const { counts, failures, verdict, audit, generator } = run;
  assert.equal(counts.verified + audit.includedLate, executed);
  return { code, counts, failures, verdict: verdict.name, audit: audit.result, resubmissions: generator.resubmissions };
}

// The backoff is random; without chance the runs are the same.
before(() => void mock.method(Math, 'random', () => 0.5));

for (const [name, situation] of Object.entries(SITUATIONS)) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof endOf>>} */
    let inGeth;
    before(async () => void (inGeth = await endOf(CLIENTS.geth, situation)));
    it('geth: an exact audit', (t) => {
      t.diagnostic(JSON.stringify(inGeth));
      assert.deepEqual([inGeth.audit, inGeth.code], ['exact', 0]);
    });
    for (const [client, words] of Object.entries(CLIENTS)) {
      if (client === 'geth' || !situation.needs.every((reason) => words[reason])) continue;
      it(client, async () => assert.deepEqual(await endOf(words, situation), inGeth));
    }
  });
}
