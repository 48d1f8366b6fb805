/**
 * Set code (EIP-7702): each operation is a transaction of type 4, which gives the code of a contract to an account of the
 * wallet, its authority, and calls it. The chain must have the Prague fork.
 *
 *     stress -t 50 -d 30s --workload docs/examples/set-code.js
 */
export const contract = 'evm-stress/workload@1';

const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity >=0.8.0;

contract Counter {
  uint256 public count;

  function increment() external {
    count++;
  }
}`;

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, rpc, state }) {
  const data = kit.abi(['function increment()']).encodeFunctionData('increment') + kit.tag;
  let { chainId = 0, address = '', wallets = [] } = state ?? {};
  const open = () => wallets.map((wallet) => kit.authority(wallet.address));
  let authorities = open();

  return {
    kind: 'transaction',
    // An authorization names the next nonce of its authority.
    isAlone: true,
    subject: 'authorities were given code',
    gas: { perWallet: 200_000n, perOperation: 120_000n },

    async prepare(preparation) {
      chainId = preparation.chain.chainId;
      address = await kit.deployOnce(await kit.compile(SOURCE));
      wallets = preparation.wallets.map((wallet) => ({ address: wallet.address, nonce: wallet.nonce }));
      authorities = open();
    },

    next(position, nonce) {
      const { address: to, authorize } = authorities[position];
      // An authorization has the nonce of the authority, which each one raises by one.
      return { to, data, authorizationList: [authorize({ chainId, address, nonce: nonce - wallets[position].nonce })] };
    },

    /** A chain skips an authorization that it does not accept: the nonces of the authorities count those that it took. */
    async audit(blockHash) {
      const params = (authority) => [authority.address, { blockHash }];
      const requests = authorities.map((one) => ({ method: 'eth_getTransactionCount', params: params(one) }));
      const nonces = await rpc.batch(requests, 'audit');
      return nonces.map((nonce, i) => ({ start: 0n, now: BigInt(nonce), target: authorities[i].address }));
    },

    handOver: (first, count) => ({ chainId, address, wallets: wallets.slice(first, first + count) }),
  };
}
