/**
 * Access lists: each operation reads so many slots that its transaction announces (EIP-2930).
 *
 *     stress -t 50 -d 30s --workload docs/examples/access-list.js --set slots=20 --legacy
 *
 * With --legacy the transactions are of type 1, without it of type 2.
 */
export const contract = 'evm-stress/workload@1';

const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity >=0.8.0;

contract Reader {
  uint256 public reads;
  uint256[1000] private values;

  function read(uint256 count) external {
    uint256 sum = 1;
    for (uint256 i = 0; i < count; i++) sum += values[i];
    reads += sum;
  }
}`;

/** `reads` is slot 0, and the values are those after it. */
const keyOf = (slot) => `0x${slot.toString(16).padStart(64, '0')}`;

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, settings, state }) {
  const slots = Number(settings.set.slots ?? 10);
  if (!Number.isInteger(slots) || slots < 1 || slots > 1000) throw new Error('--set slots must be from 1 to 1000');
  const reader = kit.abi(['function read(uint256 count)', 'function reads() view returns (uint256)']);
  const data = reader.encodeFunctionData('read', [slots]) + kit.tag;
  const reads = reader.encodeFunctionData('reads');
  const storageKeys = Array.from({ length: slots + 1 }, (_, slot) => keyOf(slot));
  let calls = state ?? [];

  return {
    kind: 'transaction',
    subject: 'readers were called',
    gas: { perWallet: 300_000n, perOperation: 60_000n + 3000n * BigInt(slots) },

    async prepare() {
      const addresses = await kit.deployEach(await kit.compile(SOURCE));
      calls = addresses.map((to) => ({ to, data, accessList: [{ address: to, storageKeys }] }));
    },

    next: (position) => calls[position],
    audit: kit.auditByCall((position) => ({ to: calls[position].to, data: reads })),
    handOver: (first, count) => calls.slice(first, first + count),
  };
}
