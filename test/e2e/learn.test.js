/** stress learn gives back a known mix, and what it writes loads a chain as the known mix did: anvil. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workFor } from '../../src/learn/work.js';
import { readArtifact } from '../../src/workloads/contract-state.js';
import { anvilFor, startAnvil } from '../helpers/anvil.js';
import { MIXES, roundTrip } from '../helpers/round-trip.js';
import { until } from '../helpers/until.js';

describe('contracts/Work.sol', () => {
  const chain = anvilFor('--accounts 1');
  /** @param {object} transaction @returns {Promise<any>} its receipt */
  const send = async (transaction) => {
    const [from] = await chain.rpc('eth_accounts');
    const hash = await chain.rpc('eth_sendTransaction', [{ from, gas: '0x1c9c380', ...transaction }]);
    await until(async () => (await chain.rpc('eth_getTransactionReceipt', [hash])) !== null);
    return chain.rpc('eth_getTransactionReceipt', [hash]);
  };

  it('takes the gas, the bytes and the events of the calls that it stands for', async () => {
    const { contractAddress: to } = await send({ data: readArtifact('Work').bytecode });
    for (const [gas, bytes, events] of [
      [30_000, 4, 0],
      [46_000, 68, 1],
      [120_000, 260, 3],
      [250_000, 1000, 12],
      [900_000, 644, 0],
      [3_000_000, 9000, 40],
      [8_000_000, 100, 1],
    ]) {
      const operation = workFor({ gas, bytes, events, selector: '0x12345678' });
      const call = { to, data: operation.calldata };
      // The first one of a wallet adds the slots that later ones change.
      await send(call);
      const { gasUsed, logs, status } = await send(call);
      const words = `${gas} gas, ${bytes} bytes, ${events} events: ${Number(gasUsed)}, ${logs.length}`;
      assert.equal(status, '0x1', words);
      assert.ok(Math.abs(Number(gasUsed) / operation.gas - 1) < 0.01, `${words}, not ${operation.gas}`);
      assert.ok(Math.abs(operation.gas / gas - 1) < 0.01, `${operation.gas}: ${words}`);
      assert.deepEqual([logs.length, operation.bytes], [events, Math.max(36, bytes)], words);
    }
  });
});

describe('stress learn on anvil', () => {
  for (const [name, known] of Object.entries(MIXES))
    it(name, async (t) => {
      const start = async () => {
        const anvil = await startAnvil({ args: ['-b', '0.2', '--accounts', '1'] });
        t.after(anvil.stop);
        return anvil;
      };
      await roundTrip(t, known, { threads: 20, seconds: 8, blocks: 35, start });
    });
});
