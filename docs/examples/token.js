/**
 * An ERC-20 token that is on the chain already: each operation pays one unit to the next wallet.
 *
 *     stress -t 20 -d 30s --rpc URL --workload docs/examples/token.js --set address=0x…
 *
 * Wallets need tokens: before the load the first wallet pays each other one, which has less, 1,000 units (--set units=1000).
 */
export const contract = 'evm-stress/workload@1';

const GAS_LIMIT = 100_000n;
const TRANSFER_EVENT = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, rpc, settings, state }) {
  const { address, units = '1000' } = settings.set;
  if (!/^0x[0-9a-fA-F]{40}$/.test(address ?? '')) throw new Error('--set address must be the address of a token');
  if (!/^[1-9]\d*$/.test(units)) throw new Error('--set units must be a whole number of units, such as 1000');
  const token = kit.abi(['function transfer(address to, uint256 units)', 'function balanceOf(address) view']);
  // A first payment takes more gas than the next ones: each call has the limit of the dearest.
  const pay = (to, amount) => ({
    to: address,
    data: token.encodeFunctionData('transfer', [to, amount]),
    gasLimit: GAS_LIMIT,
  });
  let calls = state ?? [];

  return {
    kind: 'transaction',
    subject: 'wallets paid tokens:',
    gas: { perWallet: GAS_LIMIT, perOperation: GAS_LIMIT },
    valueWei: 0n,

    async prepare({ wallets }) {
      const requests = wallets.map((wallet) => {
        const data = token.encodeFunctionData('balanceOf', [wallet.address]);
        return { method: 'eth_call', params: [{ to: address, data }, 'latest'] };
      });
      const answers = await rpc.batch(requests);
      if (answers.includes('0x')) throw new Error(`${address} has no balanceOf(): it is no token of this chain`);
      const balances = answers.map((answer) => BigInt(answer));
      const poor = wallets.filter((wallet, i) => i > 0 && balances[i] < BigInt(units));
      const needed = BigInt(units) * BigInt(poor.length);
      if (balances[0] < needed)
        throw new Error(
          `${wallets[0].address}, the first wallet, has ${balances[0]} units of ${address} and needs ${needed}: ${units} for each of ${poor.length} wallets; pay it more, or give a lower --set units`,
        );
      await kit.sendAll(
        poor.map((wallet) => ({ position: 0, ...pay(wallet.address, BigInt(units)) })),
        'paying tokens',
      );
      calls = wallets.map((_, i) => pay(wallets[(i + 1) % wallets.length].address, 1n));
    },

    next: (position) => calls[position],

    /** Some tokens return false where others revert: the event says that units have moved. */
    async reconcile(snapshot) {
      let [succeeded, moved] = [0, 0];
      const { check, why } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (!receipt.succeeded) return;
        succeeded += 1;
        moved += receipt.logs.some((log) => log.topics[0] === TRANSFER_EVENT) ? 1 : 0;
      });
      const words = 'operations with a Transfer event';
      const holds = why === null ? moved === succeeded : null;
      return [check, { name: 'events', words, expected: String(succeeded), found: String(moved), holds, why }];
    },

    handOver: (first, count) => calls.slice(first, first + count),
  };
}
