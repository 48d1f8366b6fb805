import { HAS_REQUESTS, ask, nullIfRefused, resultOf } from '../chain/answers.js';
import { UnavailableError } from '../errors.js';
import { callOf, readArtifact, selectorOf, word } from './contract-state.js';
import { DELEGATION } from './first-calls.js';

/**
 * The workload `set-code`: each operation is a transaction of type 4 (EIP-7702). It gives the code of a contract to an
 * account of the wallet, its authority, and calls it. A chain skips an authorization that it does not accept, and executes
 * the call: so the audit compares the nonce of each authority, which each authorization raises by one, its code, and the
 * count in its storage.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { TransactionWorkload as WholeWorkload } from '../contracts/load.d.ts'
 * @import { Kit, TransactionWorkload, Values } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {{address: string, nonce: number}} Signer the wallet of an authority, and its nonce before the load
 * @typedef {{chainId: number, contract: string, signers: readonly Signer[]}} State
 */

/** Functions of contracts/Compute.sol, which counts the calls of each sender. */
const RUN = selectorOf('run(uint256)');
const COUNT = selectorOf('count(address)');

/** Adds two points at infinity, by a precompile that came with EIP-7702 (EIP-2537). */
const BLS_ADDITION = Object.freeze({ to: `0x${'0'.repeat(38)}0b`, data: `0x${'0'.repeat(512)}` });

/** @param {BuiltInOptions} options @returns {TransactionWorkload & Pick<WholeWorkload, 'measure'> & {isAlone: boolean}} */
export default function create({ kit, rpc, state }) {
  /** @type {State} */
  let { chainId, contract, signers } = state ?? { chainId: 0, contract: '', signers: [] };
  const authoritiesOf = () => signers.map(({ address }) => kit.authority(address));
  let authorities = authoritiesOf();
  const data = RUN + word(0) + kit.tag;
  return {
    kind: 'transaction',
    // An authorization names the next nonce of its authority.
    isAlone: true,
    subject: 'wallets gave code to their accounts:',
    valueWei: 0n,
    // The first wallet deploys the contract. The first operation of a wallet creates its authority, and a slot in it.
    gas: {
      perWallet: 400_000n,
      perOperation: 130_000n,
      likely: { perWallet: 400_000n, perOperation: 60_000n },
      created: { perOperation: 1n },
    },
    measure: () => refuseOldChain(rpc),
    unprepared: async () => 1,
    prepare: async ({ wallets, chain }) => {
      chainId = chain.chainId;
      contract = await kit.deployOnce(readArtifact('Compute'));
      signers = wallets.map(({ address, nonce }) => ({ address, nonce }));
      authorities = authoritiesOf();
    },
    next: (position, nonce) => {
      const { address: to, authorize } = authorities[position];
      const authorization = { chainId, address: contract, nonce: nonce - signers[position].nonce };
      return { to, data, authorizationList: [authorize(authorization)] };
    },
    reconcile: async (snapshot) => {
      /** Transactions of each wallet, and those that succeeded. */
      const [sent, succeeded] = [signers.map(() => 0), signers.map(() => 0)];
      const { check, compare } = await kit.checkReceipts(snapshot, (position, _nonce, receipt) => {
        sent[position] += 1;
        if (receipt.succeeded) succeeded[position] += 1;
      });
      const checks = [check];
      for (const values of valuesOf({ authorities, contract, signers, sent, succeeded }))
        checks.push(await compare(values));
      return checks;
    },
    facts: () => ({ contract }),
    handOver: (first, count) => ({ chainId, contract, signers: signers.slice(first, first + count) }),
  };
}

/**
 * What each authority that was used must have.
 * @param {Omit<State, 'chainId'> & {authorities: readonly ReturnType<Kit['authority']>[], sent: readonly number[], succeeded: readonly number[]}} run
 * @returns {Values[]}
 */
function valuesOf({ authorities, contract, signers, sent, succeeded }) {
  const used = authorities.flatMap(({ address }, i) => (sent[i] > 0 ? [{ address, i }] : []));
  const count = used.length;
  const code = BigInt(DELEGATION + contract.slice(2));
  return [
    {
      name: 'authorizations',
      words: 'accounts whose nonce is the number of their authorizations',
      count,
      entryOf: (at) => {
        const { address, i } = used[at];
        return { of: `${address} has nonce`, read: ['eth_getTransactionCount', address], mustBe: BigInt(sent[i]) };
      },
    },
    {
      name: 'code',
      words: 'accounts that have the code of the contract',
      count,
      entryOf: (at) => ({ of: `${used[at].address} has`, read: ['eth_getCode', used[at].address], mustBe: code }),
      show: (found) => `0x${found.toString(16)}`,
    },
    {
      name: 'counts',
      words: 'accounts whose storage has as many calls of the wallet as succeeded',
      count,
      entryOf: (at) => {
        const { address, i } = used[at];
        const read = callOf(address, COUNT + word(signers[i].address));
        return { of: `${address} has`, read, mustBe: BigInt(succeeded[i]) };
      },
    },
  ];
}

/** A chain before the Prague fork does not take such transactions. @param {Rpc} rpc @throws {UnavailableError} */
async function refuseOldChain(rpc) {
  if (await ask(rpc, HAS_REQUESTS, 'setup')) return;
  const sum = await nullIfRefused(ask(rpc, resultOf(BLS_ADDITION, 'latest'), 'setup'));
  if (sum !== null && sum.length === 258) return;
  throw new UnavailableError(
    `${rpc.display}: the latest block has no requestsHash and there are no precompiles of the Prague fork: the chain takes no transactions that set code (EIP-7702); use another workload`,
  );
}
