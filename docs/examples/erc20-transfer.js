/**
 * ERC-20 payments: each wallet sends one unit of a token to an address of its own, over and over.
 *
 *     stress -t 50 -d 30s --workload docs/examples/erc20-transfer.js
 */
export const contract = 'evm-stress/workload@1';

const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity >=0.8.0;

contract Token {
  mapping(address => uint256) public balanceOf;
  event Transfer(address indexed from, address indexed to, uint256 value);

  function mint(address to, uint256 value) external {
    balanceOf[to] += value;
    emit Transfer(address(0), to, value);
  }

  function transfer(address to, uint256 value) external returns (bool) {
    balanceOf[msg.sender] -= value; // reverts when there is too little
    balanceOf[to] += value;
    emit Transfer(msg.sender, to, value);
    return true;
  }
}`;

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, state }) {
  const token = kit.abi([
    'function mint(address to, uint256 value)',
    'function transfer(address to, uint256 value)',
    'function balanceOf(address) view returns (uint256)',
  ]);
  let payments = state ?? [];

  return {
    kind: 'transaction',
    subject: 'receivers were paid',

    async prepare({ wallets }) {
      const to = await kit.deployOnce(await kit.compile(SOURCE));
      const mint = ({ address }, position) => {
        return { position, to, data: token.encodeFunctionData('mint', [address, 10n ** 18n]) };
      };
      await kit.sendAll(wallets.map(mint), 'minting');
      payments = wallets.map(({ address }) => {
        const receiver = kit.createAddress(address, 2 ** 32); // nobody has its key, and it differs for each wallet
        const data = token.encodeFunctionData('transfer', [receiver, 1n]) + kit.tag;
        return { pay: { to, data }, arrived: { to, data: token.encodeFunctionData('balanceOf', [receiver]) } };
      });
    },

    next: (position) => payments[position].pay,
    audit: kit.auditByCall((position) => payments[position].arrived),
    handOver: (first, count) => payments.slice(first, first + count),
  };
}
