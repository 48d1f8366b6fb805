/** Evidence of a run on a real geth, whose headers, transactions and receipts are in the proofs. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startGeth } from '../../scripts/nodes/geth.js';
import { exited } from '../helpers/cli.js';
import { blocksOf, changeFigure, linesOf, seal } from '../helpers/evidence.js';
import { temporaryFolder } from '../helpers/temporary.js';

await test('geth --dev: the honest file is confirmed, and a reverted operation called verified is contradicted', async (t) => {
  const folder = temporaryFolder(t);
  const geth = await startGeth({ period: 1 });
  t.after(() => geth.stop());
  const [evidence, out] = [join(folder, 'run.evidence'), join(folder, 'run.json')];
  const load = ['-t', '20', '-d', '12s', '--interval', '1s', '--rpc', geth.url];
  await exited(0, [...load, '--evidence', evidence, '--sign', '--out', out], {
    env: { STRESS_FUNDER_KEY: geth.funderKey },
  });
  const { stdout } = await exited(0, ['verify', evidence, out, '--rpc', geth.url]);
  for (const claim of ['sums', 'run file', 'signatures', 'proofs', 'chain', 'blocks', 'operations', 'nonces'])
    assert.match(stdout, new RegExp(`\n  ${claim} +confirmed: `));

  const lines = linesOf(evidence);
  const row = blocksOf(lines).filter((one) => one[6] > 0)[1];
  row[6] -= 1;
  row[7] += 1;
  changeFigure(lines, 'verified', (value) => value - 1);
  changeFigure(lines, 'reverted', (value) => value + 1);
  seal(lines);
  const changed = join(folder, 'changed.evidence');
  writeFileSync(changed, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const wrong = await exited(76, ['verify', changed, '--rpc', geth.url]);
  const words = wrong.stdout.replaceAll(/\s+/g, ' ');
  assert.match(
    words,
    new RegExp(`operations CONTRADICTED: block ${row[0]} \\(0x${row[1]}\\): .* transaction 0x\\w+ succeeded`),
  );
});
