/** Evidence files of others may have anything in them: each ends in claims, or is refused with a line that names the place. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { InputError } from '../../../src/errors.js';
import { endOf, linesOf, seal, verified } from '../../helpers/evidence.js';
import { temporaryFolder } from '../../helpers/temporary.js';

const EXAMPLE = fileURLToPath(new URL('../../../docs/examples/evidence/run.evidence', import.meta.url));
const ODD = [null, -1, 1.5, 2 ** 60, '', 'ab', '0x', [], {}, true, [null], { hash: 1 }];

/** @param {any} value @param {() => number} random @param {unknown} odd @returns {boolean} whether a member of it was replaced */
function spoil(value, random, odd) {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (keys.length === 0) return false;
  const key = keys[Math.floor(random() * keys.length)];
  if (random() < 0.5 && spoil(value[key], random, odd)) return true;
  value[key] = odd;
  return true;
}

describe('a hostile evidence file', () => {
  const folder = temporaryFolder({ after });

  it('ends in claims or in one clear line', async () => {
    const drawn = fc.sample(fc.noBias(fc.nat(999_999)), { seed: 7, numRuns: 10_000 });
    const random = () => Number(drawn.pop()) / 1e6;
    const honest = linesOf(EXAMPLE);
    let refused = 0;
    for (let i = 0; i < 300; i += 1) {
      const lines = structuredClone(honest);
      const odd = ODD[i % ODD.length];
      const line = i % 3 === 0 ? lines.find((one) => one.end) : lines[Math.floor(random() * lines.length)];
      spoil(line, random, odd);
      if (lines.some((one) => one?.end?.figures) && i % 2 === 0) seal(lines);
      try {
        await verified(folder, lines);
      } catch (error) {
        assert.ok(
          error instanceof InputError,
          `${JSON.stringify(line).slice(0, 300)}: ${/** @type {Error} */ (error).stack}`,
        );
        assert.match(error.message, /changed\.evidence, line \d+: no evidence file of stress: /);
        refused += 1;
      }
    }
    assert.ok(refused > 50, `${refused}`);
  });

  /** @type {Array<[string, (lines: any[]) => unknown]>} */
  const forms = [
    ['a figure twice', (lines) => endOf(lines).figures.push(['verified', 1090, 'x'])],
    ['a digest with a line of its own', (lines) => (endOf(lines).runFileSha256 = '00\n  signatures  confirmed')],
    ['a formula with a line of its own', (lines) => (endOf(lines).figures[0][2] = 'x\n  signatures  confirmed')],
    ['another word for the result of the audit', (lines) => (endOf(lines).audit.result = 'fine')],
    ['a count behind the end', (lines) => lines.push({ add: [20, -2, 2] })],
    ['a count beside signatures', (lines) => lines.push({ add: [20, -2, 2], signatures: [] })],
    ['a reorg behind the end', (lines) => lines.push({ reorg: 20 })],
    ['a block below 0', (lines) => (lines.find((line) => typeof line[0] === 'number')[0] = -5)],
  ];
  for (const [name, change] of forms)
    it(`is refused: ${name}`, async () => {
      const lines = linesOf(EXAMPLE);
      change(lines);
      seal(lines);
      await assert.rejects(verified(folder, lines), (error) => {
        assert.ok(error instanceof InputError);
        assert.match(error.message, /^\S*changed\.evidence, line \d+: no evidence file of stress: [^\n]*$/);
        return true;
      });
    });

  it('the example is confirmed', async () => {
    const claims = await verified(folder, linesOf(EXAMPLE));
    assert.equal(claims.exitCode, 0, JSON.stringify(claims.all));
    assert.ok(endOf(linesOf(EXAMPLE)).isSigned);
  });
});
