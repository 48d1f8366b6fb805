/**
 * A workload of your own. It runs as it is: stress -t 5 -d 3s --workload ./THIS_FILE
 * docs/workloads.md explains every part, docs/examples has more of them.
 */

/** Which contract between stress and this file it is written for. */
export const contract = 'evm-stress/workload@1';

/** Compiled in prepare(), and deployed once for each wallet. */
const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity >=0.8.0;

contract Notes {
  uint256 public count;
  mapping(uint256 => uint256) public notes;

  function write(uint256 value) external {
    notes[count++] = value;
  }
}`;

/**
 * Called once before the load, and once more in each worker thread (--workers), where `state` is what handOver() gave.
 * @type {import('evm-stress/workload').Create}
 */
export default function create({ kit, settings, state }) {
  const notes = kit.abi(['function write(uint256)', 'function count() view returns (uint256)']);
  const count = notes.encodeFunctionData('count');
  // What the user may say on the command line: --set value=7
  const write = notes.encodeFunctionData('write', [BigInt(settings.set.value ?? 1)]) + kit.tag;

  // The transaction of each wallet, by its position.
  let calls = /** @type {Array<{to: string, data: string}>} */ (state ?? []);

  return {
    kind: 'transaction',
    /** As the summary says it: "5 notebooks grew by 1,234". */
    subject: 'notebooks grew by',

    /** Before the load: one contract for each wallet. */
    async prepare() {
      const addresses = await kit.deployEach(await kit.compile(SOURCE));
      calls = addresses.map((to) => ({ to, data: write }));
    },

    /** The next transaction of a wallet. Its gas is measured, unless it has a gasLimit. */
    next: (position) => calls[position],

    /** It took effect when its receipt says so. */
    verify: kit.verifyByReceipt((position) => calls[position].to),

    /** At the end: this number must have grown by one with each operation of the wallet. */
    audit: kit.auditByCall((position) => ({ to: calls[position].to, data: count })),

    /** What a worker thread needs for its part of the wallets. */
    handOver: (first, wallets) => calls.slice(first, first + wallets),
  };
}
