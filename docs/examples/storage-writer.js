/**
 * Storage: each operation writes so many new slots, some 22,300 gas each, in a contract of the wallet's own.
 *
 *     stress -t 50 -d 30s --workload docs/examples/storage-writer.js --set slots=20
 */
export const contract = 'evm-stress/workload@1';

const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity >=0.8.0;

contract Store {
  uint256 public writes;
  mapping(uint256 => uint256) private slots;

  function write(uint256 count) external {
    uint256 first = writes++ * count;
    for (uint256 i = first; i < first + count; i++) slots[i] = block.number + 1;
  }
}`;

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, settings, state }) {
  const slots = Number(settings.set.slots ?? 10);
  if (!Number.isInteger(slots) || slots < 1) throw new Error('--set slots must be a whole number from 1 on');
  const store = kit.abi(['function write(uint256 count)', 'function writes() view returns (uint256)']);
  const data = store.encodeFunctionData('write', [slots]) + kit.tag;
  const writes = store.encodeFunctionData('writes');
  let calls = state ?? [];

  return {
    kind: 'transaction',
    subject: 'stores were written to',
    // A deployment takes some 150,000 gas, and the first write of a store more than those after it.
    gas: { perWallet: 250_000n, perOperation: 60_000n + 25_000n * BigInt(slots) },

    async prepare() {
      const addresses = await kit.deployEach(await kit.compile(SOURCE));
      calls = addresses.map((to) => ({ to, data }));
    },

    next: (position) => calls[position],
    audit: kit.auditByCall((position) => ({ to: calls[position].to, data: writes })),
    handOver: (first, count) => calls.slice(first, first + count),
  };
}
