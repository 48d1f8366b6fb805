import { isAddress } from 'ethers/address';
import { Interface } from 'ethers/abi';
import { askAll, valueOf } from '../chain/answers.js';
import { ProtocolError, RpcError, UnavailableError, UsageError } from '../errors.js';
import { counted, partOf } from '../text.js';
import { TOKEN_ERRORS } from './contract-abi.js';
import { callOf, readArtifact, selectorOf, word } from './contract-state.js';
import { estimateCalls, largest, positionsEstimated, refuseWithoutCode } from './first-calls.js';
import { createPayments } from './payments.js';

/**
 * The workload `erc20`: payments of a few units of a token, from each wallet to a random other wallet of the slice, or to
 * one of many addresses made for the run. The token is made for the run, or is on the chain already (--set address). An
 * operation is verified by the status of its receipt. The audit adds up the balances of the token, and reads the total
 * supply of one made for the run again.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { TransactionWorkload as WholeWorkload } from '../contracts/load.d.ts'
 * @import { TransactionWorkload, Wallet } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { Asset } from './payments.js'
 */

/** What each wallet mints before the load: more than it can pay. */
const SUPPLY = 10n ** 18n;

/** Functions of contracts/Token.sol. */
const MINT = selectorOf('mint(uint256)');
const TRANSFER = selectorOf('transfer(address,uint256)');
const BALANCE_OF = selectorOf('balanceOf(address)');
const TOTAL_SUPPLY = selectorOf('totalSupply()');

/** Gas of a payment: upper bounds, of other tokens if the wallet has no funds to estimate it with. */
const PAYMENT_GAS = 70_000n;
const OTHER_GAS = 150_000n;

/** A receiver that has paid all it had is written like a new one. */
const NEW_SLOT_GAS = 20_000n;

/** @param {BuiltInOptions} options @returns {TransactionWorkload & Pick<WholeWorkload, 'measure'>} */
export default function create(options) {
  const { kit, rpc, state, settings } = options;
  const payments = createPayments(options, state?.payments);
  const { address = null } = Object.fromEntries(settings.set ?? []);
  if (address !== null && !isAddress(address))
    throw new UsageError(`--set address=${address} has a wrong checksum: give the address of the token as it is`);
  let to = String(address ?? state?.to ?? '');
  /** Gas limit of a payment of a token that is there. @type {bigint | undefined} */
  let gasLimit = state?.gasLimit;
  const value = word(payments.value);
  /** @type {Asset} */
  const asset = {
    unit: 'units',
    paysFees: false,
    balanceOf: (owner) => callOf(to, BALANCE_OF + word(owner)),
    receiverHas: 0n,
  };
  /** @param {number} position @param {number} nonce */
  const dataOf = (position, nonce) => TRANSFER + word(payments.receiverOf(position, nonce)) + value;
  /** The first wallet also deploys the token. */
  const ownGas = {
    perWallet: 800_000n,
    perOperation: PAYMENT_GAS,
    likely: { perWallet: 80_000n, perOperation: 52_000n },
  };

  /** A token that is there. @param {readonly Wallet[]} wallets */
  async function measure(wallets) {
    payments.begin(
      'erc20',
      wallets.map((wallet) => wallet.address),
    );
    await refuseWithoutCode(rpc, to, 'the token of --set address');
    await refusePoor(rpc, wallets, asset, payments.value);
    const calls = positionsEstimated(wallets.length).map((position) => {
      return { words: 'transfer', wallet: wallets[position], to, data: dataOf(position, wallets[position].nonce) };
    });
    const found = await estimateCalls(kit, calls, { abi: new Interface(TOKEN_ERRORS), fallback: OTHER_GAS });
    gasLimit = largest(found) + NEW_SLOT_GAS;
  }

  return {
    kind: 'transaction',
    subject: 'wallets made token payments:',
    valueWei: 0n,
    get gas() {
      return address === null ? ownGas : { perWallet: 0n, perOperation: gasLimit ?? OTHER_GAS };
    },
    ...(address !== null && { measure, unprepared: async () => 0 }),
    prepare: async ({ wallets }) => {
      payments.begin('erc20');
      if (address === null) {
        to = await kit.deployOnce(readArtifact('Token'));
        const data = MINT + word(SUPPLY);
        await kit.sendAll(
          wallets.map((_, position) => ({ position, to, data })),
          'minting tokens',
        );
      } else await measure(wallets);
      await payments.readBalances(asset);
    },
    next: (position, nonce) => ({ to, data: dataOf(position, nonce), gasLimit }),
    verify: kit.verifyByReceipt((position, { nonce }) => payments.receiverOf(position, nonce)),
    reconcile: (snapshot) => {
      // Others may mint and burn a token that is not of this run.
      if (address !== null) return payments.reconcile(snapshot, asset);
      const supply = SUPPLY * BigInt(kit.addresses().length);
      return payments.reconcile(snapshot, asset, {
        name: 'supply',
        words: 'total supply that is what was minted',
        count: 1,
        entryOf: () => ({ of: 'it is', read: callOf(to, TOTAL_SUPPLY), mustBe: supply }),
      });
    },
    facts: () => ({ ...payments.facts, token: to, value: String(payments.value) }),
    handOver: () => ({ payments: payments.toState(), to, gasLimit }),
  };
}

/**
 * Wallets without tokens cannot pay.
 * @param {Rpc} rpc
 * @param {readonly Wallet[]} wallets
 * @param {Asset} token
 * @param {bigint} units of a payment
 * @throws {UnavailableError}
 */
async function refusePoor(rpc, wallets, { balanceOf }, units) {
  const questions = wallets.map(({ address }) => {
    const [method, ...params] = balanceOf(address);
    return valueOf(method, [...params, 'latest']);
  });
  const balances = await askAll(rpc, questions, 'setup').catch((error) => {
    if (!(error instanceof RpcError || error instanceof ProtocolError)) throw error;
    throw new UnavailableError(
      `the contract of --set address has no balanceOf that answers with a number: it is no token`,
    );
  });
  const poor = wallets.filter((_, i) => balances[i] < units);
  if (poor.length === 0) return;
  const [{ index, address }] = poor;
  const balance = balances[wallets.indexOf(poor[0])];
  throw new UnavailableError(
    `${partOf(poor.length, wallets.length, 'wallet')} cannot pay ${counted(Number(units), 'unit')} of the token of --set address: wallet ${index} (${address}) has ${balance}; pay the wallets tokens first`,
  );
}
