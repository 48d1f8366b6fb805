/** On a platform for which neither anvil nor secp256k1 has a binary. `npm run smoke` installs the package there, too. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

const env = {
  NODE_OPTIONS: `--import=data:text/javascript,Object.defineProperty(process,'platform',{value:'freebsd'})`,
};

test('the embedded chain is refused in one line, with the way out', async () => {
  const { code, stdout, stderr } = await spawnStress(['-t', '1'], { env }).done;
  assert.equal(code, 69, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, /^stress: cannot start the embedded chain: .*\bfreebsd\b.*; give an endpoint with --rpc\n$/);
});

test('a run with --rpc signs with WebAssembly, and says so', async (t) => {
  const anvil = await startAnvil();
  t.after(() => anvil.stop());
  const out = join(temporaryFolder(t), 'run.json');
  const args = ['--rpc', anvil.url, '-t', '4', '--workers', '2', '--iterations', '20', '--out', out];
  const { code, stderr } = await spawnStress(args, { env }).done;
  assert.equal(code, 0, stderr);
  const { environment, counts, audit } = readJson(out);
  assert.equal(environment.signer, 'tiny-secp256k1');
  assert.equal(counts.verified, 80);
  assert.equal(audit.exact, true);
});
