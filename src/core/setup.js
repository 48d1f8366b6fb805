import { HEAD, ask, askAll, gasOf, headerAt, nonceOf, nullIfRefused, toHex } from '../chain/answers.js';
import { hashOf } from '../chain/chain-identity.js';
import { fundOnDevChain } from '../chain/devchain.js';
import {
  MAX_TRANSACTION_GAS,
  foreignSender,
  fundsMissing,
  minedSince,
  mineQueued,
  payMissing,
  planPayments,
  settleFunder,
  settleWallets,
  shortfalls,
} from '../chain/funding.js';
import { Wallet as WalletClass } from '../chain/keys.js';
import { DEV_CHAIN_IDS, isLocalChain } from '../chain/networks.js';
import { NonceTakenError } from '../chain/send.js';
import { listWallets, readPool } from '../chain/wallet-states.js';
import { exactAmount } from '../coin.js';
import { waitForEndpoints } from '../chain/wait-for.js';
import { InterruptedError, RefusedError, RpcError, UnavailableError, UsageError } from '../errors.js';
import { chainReplaced } from '../inclusion/follow.js';
import { chooseInclusion, warningOf } from '../inclusion/index.js';
import { checkObservers } from '../observers/index.js';
import { chooseKeys, deriveWallets, identify, interruptible, openSender, readChainAndKeys } from './connect.js';
import { loadText } from './describe.js';
import {
  checkRefill,
  estimateRunCost,
  estimateValue,
  gasOnChain,
  secondsPerBlock,
  warmupSeconds,
  withBlobs,
} from './costs.js';
import { callValueOf } from '../workloads/table.js';
import { sliceIndexes } from './nonces.js';
import { rateOf } from './pacer.js';
import { counted, partOf } from '../text.js';

/**
 * @import { ChainInfo, Chosen, Fees, KeySource, Rpc, Sender, Wallet } from '../contracts/chain.d.ts'
 * @import { Config } from '../contracts/config.d.ts'
 * @import { CallWorkload, Gas, LoadSize, RefillPlan, TransactionWorkload, WorkloadConfig } from '../contracts/load.d.ts'
 * @import { ForeignSenderError } from '../errors.js'
 * @import { Payments } from '../chain/funding.js'
 * @import { WalletState } from '../chain/wallet-states.js'
 * @import { GivenKeys, Identity } from './connect.js'
 * @import { Balance } from './costs.js'
 * @import { Account } from './nonces.js'
 * @import { Run } from './run.js'
 */

/** The set-up between the connection and the load: chain, wallets, funds, contracts, start block. */

/** Operations per wallet assumed for the funding check without a duration. */
const OPERATIONS_WITHOUT_DURATION = 1000;
/** A later price per gas that the operations in flight can be paid with at least. */
const LEAST_PRICE_WEI = 10n ** 9n;
/** Assumed for development chains, which make blocks on demand. */
const FASTEST_BLOCKS_PER_SECOND = 20;

/** How long the next transaction of another sender is waited for. */
const PROOF_TIMEOUT_MS = 10_000;

/**
 * @typedef {object} SetUp
 * @property {Identity & {genesisHash?: string | null, blockGasLimit?: number | null}} chain
 * @property {Wallet[]} wallets by position
 * @property {Sender | null} sender null: plain calls
 * @property {Chosen | null} inclusion null: plain calls
 * @property {number} startS time of day when it began
 * @property {RefillPlan | null} refill null: wallets are not paid during the load
 * @property {Array<{display: string, clientVersion: string | null}>} identified several endpoints only
 * @property {Account[]} accounts of the wallets
 * @property {StartBlock} start
 * @property {Balance} before the balances of the wallets before the load
 *
 * @typedef {object} KnownChain what is known before anything is sent
 * @property {Identity} chain
 * @property {readonly Wallet[]} wallets of the transactions; empty: plain calls
 * @property {KeySource} [source] of all wallets of the slice; absent: plain calls
 * @property {bigint | null} gasPerOperation estimated; null: plain calls
 *
 * @typedef {(known: KnownChain) => Promise<void>} Check called before anything is sent
 */

/** From the identity of the chain to wallets and contracts that the load can use. @param {Run<'network' | 'plan'>} run @returns {Promise<Omit<SetUp, 'accounts' | 'start' | 'before'>>} */
export function setUp(run) {
  const { config, context, network, plan, notice } = run;
  const { urls, endpoints } = network;
  const { rpc, identity, monitor } = endpoints;
  const { callLoad, workload } = plan;
  const { clock, stop } = context;
  const signal = stop.drain;
  /** @type {Check} */
  const check = async (known) => {
    await checkObservers(config, { clock, rpc, signal, ...known });
    await callLoad?.check(known);
  };
  return interruptible(stop, endpoints, async () => {
    if (!run.isEmbedded) await waitForEndpoints(config.chain, { urls, endpoints, clock, signal, notice });
    /** @type {SetUp['identified']} */
    let identified = [];
    if (identity !== null) {
      identified = await identity.identify(urls, config.chain, signal);
      monitor.begin();
    }
    const funded =
      workload.kind === 'call' ? await setUpCalls(run, workload, check) : await setUpTransactions(run, workload, check);
    await callLoad?.prepare(funded.chain, notice);
    return { ...funded, identified };
  });
}

/**
 * Plain calls need no funds, contracts or keys.
 * @param {Run<'network' | 'plan'>} run
 * @param {CallWorkload} workload
 * @param {Check} check
 */
async function setUpCalls({ context, keys, network, plan: { own }, notice }, workload, check) {
  const { clock, onProgress, stop } = context;
  const { urls, endpoints } = network;
  const { threads } = own.load;
  const { offset, hdPath } = own.wallets;
  const { rpc } = endpoints;
  const chain = await identify(rpc, urls[0], own.chain, clock);
  const node = chain.clientVersion ?? 'an unknown endpoint';
  notice(loadText(own, counted(threads, 'user'), `${rpc.display} (${node})`));
  const slice = { offset, threads };
  const sourceOf = () => urls.map((url) => chooseKeys(keys, hdPath, url, chain.chainId))[0];
  // Derived only if the calls use them.
  const addresses = async () => addressesOf(await deriveWallets(sourceOf(), [slice], stop.drain, onProgress));
  await check({ chain, wallets: [], gasPerOperation: null });
  await workload.prepare?.({ chain, addresses, notice });
  const wallets = sliceIndexes(slice).map((index) => WalletClass.withoutKey(index));
  return { chain, wallets, sender: null, inclusion: null, startS: 0, refill: null };
}

/**
 * @param {Run<'network' | 'plan'>} run
 * @param {TransactionWorkload} workload
 * @param {Check} check
 */
async function setUpTransactions(run, workload, check) {
  const { context, keys, isEmbedded, notice, plan } = run;
  const { network, wallets: slice, load } = plan.own;
  const { clock, onProgress, stop } = context;
  const { threads } = load;
  const startS = Math.floor(clock.wallMs() / 1000);
  const { rpc, rpcs } = run.network.endpoints;
  const { chain, source } = await readChainAndKeys(plan.own.chain, slice.hdPath, {
    ...{ given: keys, urls: run.network.urls, endpoints: run.network.endpoints },
    ...{ clock, stop },
  });
  notice(loadText(plan.own, walletsText(slice, threads, source), placeText(rpc, chain)));
  const wallets = await deriveWallets(source, [{ offset: slice.offset, threads }], stop.drain, onProgress);
  const inclusion = await chooseInclusion(network.inclusion, rpcs, { ...context, signal: stop.drain });
  const warning = warningOf(inclusion.name, rpcs, network.connections, threads * load.inFlight);
  if (warning !== null) context.log.warn(warning);
  const priced = { ...slice, isGuarded: plan.own.chain.allowChain !== null };
  const sender = await openSender(
    priced,
    { ...context, timeoutMs: network.txTimeoutMs, notice },
    rpc,
    chain,
    run.costs,
  );
  try {
    if (isEmbedded) await fundEmbedded(run, wallets, rpc);
    refuseUnlimitedValue(plan.own.workload, run.network.urls, chain);
    await workload.measure?.(wallets);
    await refuseLargeOperations(rpc, wallets[0], workload.gas, chain);
    const gas = await withBlobs(rpc, sender.fees, await gasOnChain(rpc, keys.funder ?? wallets[0], workload.gas));
    await check({ chain, wallets, source, gasPerOperation: workload.gas.likely.perOperation });
    await workload.check?.(wallets);
    const refill = await fundWallets(run, { wallets, sender, chain, workload: { ...workload, gas } });
    if (!isEmbedded) await mineQueued(sender, wallets, notice);
    await workload.prepare({ wallets, sender, chain, onProgress });
    // The price that the node takes is known now.
    return { chain, wallets, sender, inclusion, startS, refill: refill && { ...refill, fees: sender.fees.state() } };
  } catch (error) {
    if (!(error instanceof NonceTakenError)) throw error;
    const { wallet, nonce, hashes, message: words } = error;
    throw await foreignSenderOf(sender, { used: [wallet], nonce, hashes, words }, startS);
  }
}

/** @param {{offset: number}} slice @param {number} threads @param {KeySource} source */
function walletsText({ offset }, threads, { name }) {
  return `${counted(threads, 'wallet')} (${offset}..${offset + threads - 1} of ${name})`;
}

/** @param {Rpc} rpc @param {Identity} chain */
function placeText({ display }, { clientVersion, chainId }) {
  return `${display} (${clientVersion ?? 'an unknown node'}, chain ${chainId})`;
}

/** @param {Run<'plan'>} run @param {Wallet[]} wallets @param {Rpc} rpc */
async function fundEmbedded({ context: { onProgress }, plan, notice }, wallets, rpc) {
  const all = wallets.length;
  onProgress('funding wallets', 0, all);
  await fundOnDevChain(rpc, addressesOf(wallets));
  onProgress('funding wallets', all, all);
  notice(
    `embedded chain started and its ${counted(all, 'wallet')} funded; to share one between instances: stress node -t ${plan.own.wallets.offset + all}, then stress --rpc URL`,
  );
}

/**
 * Coins of other chains may be worth money.
 * @param {WorkloadConfig} config
 * @param {readonly URL[]} urls
 * @param {Pick<ChainInfo, 'chainId'>} chain
 * @throws {RefusedError}
 */
function refuseUnlimitedValue(config, urls, { chainId }) {
  if (config.maxValueWei !== null || callValueOf(config) === 0n || isLocalChain(urls, chainId)) return;
  throw new RefusedError(
    `--call-value transfers coins of chain ${chainId}, which is no local chain: give --max-value AMOUNT, the most that the load may transfer`,
  );
}

/**
 * @typedef {object} Fundable
 * @property {Wallet[]} wallets
 * @property {Sender} sender
 * @property {ChainInfo} chain
 * @property {TransactionWorkload} workload with the gas that this chain charges
 */

/**
 * Each wallet gets what the load needs, at the price that the node takes.
 * @param {Run<'plan'>} run
 * @param {Fundable} known
 * @returns {Promise<RefillPlan | null>}
 */
async function fundWallets(run, { wallets, sender, chain, workload }) {
  const { context, isEmbedded, keys, notice } = run;
  const { own } = run.plan;
  const { onProgress, log } = context;
  const { load } = own;
  const { fundAmountWei, maxSpendWei } = own.wallets;
  const { fees, rpc } = sender;
  const { gas } = workload;
  const { threads } = load;
  const planned = { ...load, maxSpendWei, ratePerSecond: rateOf(load, workload) };
  /** @type {RefillPlan | null} */
  let refill = null;
  let wanting = 0;
  const plan = async () => {
    const needWei = walletNeedWei({ ...load, fundAmountWei }, gas, fees, chain);
    refill = await planRefills(own, needWei, planned, { funder: keys.funder, wallets, sender, gas, chain, notice });
    onProgress('reading wallets until none has a pending transaction', 0, threads);
    const states = await settleWallets(sender, wallets);
    let missing = shortfalls(wallets, states, needWei, isEmbedded ? null : await readPool(rpc, wallets));
    onProgress('reading wallets until none has a pending transaction', threads, threads);
    let setWei = 0n;
    if (missing.length > 0 && isTestChain(keys, chain)) {
      setWei = missing.reduce((sum, { missingWei }) => sum + missingWei, 0n);
      await fundOnDevChain(rpc, addressesOf(missing.map(({ wallet }) => wallet)), needWei);
      notice(`${partOf(missing.length, threads, 'test wallet')} had too little: this anvil has set their balances`);
      missing = [];
    }
    if (missing.length > 0 && keys.funder === null) throw fundsMissing(missing, needWei, remedyOf(own.instance));
    const payments = await paymentsOf(keys.funder, sender, wallets, missing, notice);
    const fundsWei =
      load.iterations === null ? fundsOf(states, refill?.funderWei ?? payments?.paidWei ?? setWei) : null;
    const { maxValueWei } = own.workload;
    estimateValue(load, { valueWei: callValueOf(own.workload), maxValueWei, chain, notice });
    const parts = { chain, isEmbedded, fees, workload, wallets, fundsWei, notice };
    await estimateRunCost(planned, { ...parts, paymentGas: payments?.gas ?? 0n });
    wanting = Math.max(wanting, missing.length);
    return payments;
  };
  const { transactions, paidWei } = await payMissing(sender, plan, (done) =>
    onProgress('funding wallets', Math.min(done, wanting), wanting),
  );
  if (transactions > 0)
    log.info(`${counted(wanting, 'wallet')} funded: ${counted(transactions, 'transaction')}, ${exactAmount(paidWei)}`);
  return refill;
}

/** @param {Config['instance']} instance @returns {string | undefined} */
function remedyOf({ index, instances }) {
  if (index === null || instances === 1) return undefined;
  return `fund the wallets of all instances before, with 'stress fund --instances ${instances}' and the options of the run`;
}

/** Operations of less gas fit into a transaction of any chain. */
const LARGE_GAS = 8_000_000n;

/**
 * Asks for the gas of a contract creation that hashes so much memory that it takes as much as an operation: the only way to
 * learn a limit below that of the block, such as EIP-7825's, before anything is paid.
 * @param {Rpc} rpc
 * @param {Wallet} wallet
 * @param {Gas} gas of an operation
 * @param {Pick<ChainInfo, 'blockGasLimit'>} chain
 * @throws {UnavailableError}
 */
async function refuseLargeOperations(rpc, { address }, { likely, perOperation }, { blockGasLimit }) {
  const gas = likely.perOperation;
  // Where they are equal, it is an upper bound: the operation may take less.
  if (gas < LARGE_GAS || gas === perOperation) return;
  // Memory of w words and its hash take 9 w + w^2 / 512 (Ethereum Yellow Paper, appendices G and H).
  const words = Math.floor(256 * (Math.sqrt(81 + Number(gas) / 128) - 9));
  const size = toHex(words * 32)
    .slice(2)
    .padStart(8, '0');
  const refused = await ask(rpc, gasOf({ from: address, data: `0x63${size}60002000` }), 'setup').then(
    () => null,
    (error) => (error instanceof RpcError ? error.rpcMessage : null),
  );
  if (refused === null) return;
  const limit =
    blockGasLimit === null
      ? ''
      : `; a block has ${blockGasLimit}, and EIP-7825 allows a transaction ${MAX_TRANSACTION_GAS}`;
  throw new UnavailableError(
    `${rpc.display} lets no transaction use ${gas} gas (${refused})${limit}: give smaller operations`,
  );
}

/**
 * The wallets of the public test mnemonic, which is used on local development chains only, and a node that sets
 * balances. A funder has precedence.
 * @param {GivenKeys} keys
 * @param {Identity} chain
 */
function isTestChain({ source, funder }, { clientVersion }) {
  return source === null && funder === null && /^anvil\b/.test(clientVersion ?? '');
}

/** @param {WalletState[]} states of all wallets @param {bigint} [besideWei] of the funder */
function fundsOf(states, besideWei = 0n) {
  return states.reduce((sum, { balanceWei }) => sum + balanceWei, besideWei);
}

/**
 * @param {Config} config
 * @param {bigint} amountWei
 * @param {LoadSize} load
 * @param {{funder: Wallet | null, wallets: Wallet[], sender: Sender, gas: Gas, chain: ChainInfo, notice: (line: string) => void}} known
 * @returns {Promise<RefillPlan | null>} null: not asked for
 */
async function planRefills({ wallets: own, chain: endpoints, load: { maxBaseFeeWei } }, amountWei, load, known) {
  const { funder, wallets, sender, gas, chain, notice } = known;
  const { refillBelowWei: belowWei } = own;
  if (belowWei === null || funder === null) return null;
  const { fees, chainId, blockGasLimit = null, timeoutMs } = sender;
  refuseOwnFunder(funder, wallets);
  checkRefill(belowWei, amountWei, load, { gas, fees, blockSeconds: chain.blockSeconds });
  // A payment of an earlier run would arrive during the load.
  const { balanceWei: funderWei } = await settleFunder(sender, funder, notice);
  const network = { chainId, blockGasLimit, timeoutMs, sendUrl: endpoints.sendRpc?.href ?? null };
  const addresses = addressesOf(wallets);
  const perOperation = { gas: gas.perOperation, valueWei: gas.value?.perOperation ?? 0n };
  const amounts = { belowWei, perOperation, inFlight: load.inFlight, amountWei, funderWei, maxBaseFeeWei };
  return { ...network, ...amounts, addresses, funder: funder.toState(), fees: fees.state() };
}

/** @param {Wallet[]} wallets */
function addressesOf(wallets) {
  return wallets.map(({ address }) => address);
}

/**
 * The estimated need of one wallet: as many operations as can be in flight in every block, at the highest price
 * offered. A wallet without funds is retired; `--fund-amount` sets another amount.
 * @param {{warmupMs: number | 'auto', durationMs: number | null, fundAmountWei: bigint | null, inFlight: number}} load
 * @param {Gas} gas
 * @param {Fees} fees
 * @param {Pick<ChainInfo, 'chainId' | 'blockSeconds'>} chain
 */
export function walletNeedWei({ warmupMs, durationMs, fundAmountWei, inFlight }, gas, fees, { chainId, blockSeconds }) {
  if (fundAmountWei !== null) return fundAmountWei;
  const perSecond = DEV_CHAIN_IDS.has(chainId) ? FASTEST_BLOCKS_PER_SECOND : 2 / blockSeconds;
  const seconds = warmupSeconds(warmupMs ?? 0, blockSeconds) + (durationMs ?? 0) / 1000;
  const inTurn = durationMs === null ? OPERATIONS_WITHOUT_DURATION : Math.ceil(seconds * perSecond) + 1;
  const operations = inTurn * (inFlight ?? 1);
  const { perWallet, perOperation } = gas.value ?? { perWallet: 0n, perOperation: 0n };
  const valueWei = perWallet + perOperation * BigInt(operations);
  const needWei = (gas.perWallet + gas.perOperation * BigInt(operations)) * fees.worstPriceWei() + valueWei;
  // A base fee that has decayed to a few wei rises when the load begins: what is in flight must be affordable then.
  const leastWei = gas.perOperation * BigInt(inFlight ?? 1) * leastPriceWei(fees) + valueWei;
  return needWei > leastWei ? needWei : leastWei;
}

/** A fixed price stays as it is, and so does none. @param {Pick<Fees, 'mode' | 'isFree' | 'state'>} fees */
function leastPriceWei({ mode, isFree, state }) {
  const { maxFeeWei } = state();
  if (mode === 'legacy' || isFree) return 0n;
  return maxFeeWei !== null && maxFeeWei < LEAST_PRICE_WEI ? maxFeeWei : LEAST_PRICE_WEI;
}

/**
 * @param {Wallet | null} funder
 * @param {Sender} sender
 * @param {Wallet[]} wallets
 * @param {Array<{wallet: Wallet, missingWei: bigint}>} missing
 * @param {(line: string) => void} notice
 * @returns {Promise<Payments | null>} null: none
 */
export async function paymentsOf(funder, sender, wallets, missing, notice) {
  if (funder === null || missing.length === 0) return null;
  refuseOwnFunder(funder, wallets);
  return planPayments(sender, funder, missing, notice);
}

/** @param {Wallet} funder @param {Wallet[]} wallets */
function refuseOwnFunder(funder, wallets) {
  const own = wallets.find(({ address }) => address === funder.address);
  if (own === undefined) return;
  throw new UsageError(
    `the funder is wallet ${own.index} of the slice; use another key for --fund-from, or another slice`,
  );
}

/**
 * @typedef {object} Taken nonces that others have used
 * @property {Wallet[]} used wallets
 * @property {number} nonce of the first one's transaction
 * @property {readonly string[]} [hashes] of our transactions with this nonce
 * @property {string} words what was seen
 */

/**
 * Another sender is proved by a transaction in a block that was made since the set-up began: this one, or the next. One in
 * an older block may be of a run before, which an endpoint that lags had not told yet.
 * @param {Pick<Sender, 'rpc' | 'clock' | 'signal'>} sender
 * @param {Taken} taken
 * @param {number} startS time of day when the set-up began
 * @returns {Promise<ForeignSenderError | InterruptedError | UnavailableError>}
 */
export async function foreignSenderOf({ rpc, clock, signal }, { used, nonce, hashes = [], words }, startS) {
  const deadlineUs = clock.nowUs() + PROOF_TIMEOUT_MS * 1000;
  let before = await nextNonces(rpc, used);
  while (clock.nowUs() < deadlineUs && !signal.aborted) {
    const mined = await minedSince(rpc, used[0], nonce, startS);
    // The answer to our own was lost.
    if (mined !== null && hashes.includes(mined.hash)) break;
    if (mined !== null) return foreignSender(used, mined);
    await clock.sleep(PAUSE_MS, signal);
    // An endpoint that does not answer proves nothing.
    const nonces = await nextNonces(rpc, used).catch(() => before);
    const grown = used.filter((_, i) => nonces[i] > before[i]);
    before = nonces;
    if (grown.length === 0) continue;
    const last = nonces[used.indexOf(grown[0])] - 1;
    const next = await minedSince(rpc, grown[0], last, startS);
    if (next !== null) return foreignSender(grown, next);
  }
  if (signal.aborted) return new InterruptedError('interrupted during set-up');
  return new UnavailableError(`${words}; a run that ended just before may have sent it: start the run again`);
}

/** By wallet, the next nonce on the chain that is not ours. @param {Rpc} rpc @param {Wallet[]} wallets */
async function nextNonces(rpc, wallets) {
  const mined = await askAll(
    rpc,
    wallets.map(({ address }) => nonceOf(address, 'latest')),
    'setup',
  );
  return mined.map((nonce, i) => Math.max(nonce, wallets[i].nonce));
}

/**
 * @typedef {object} StartBlock the latest block before the load, by which the chain is known later
 * @property {number} startBlock
 * @property {string | null} startHash
 * @property {number | null} [periodUs] time between the blocks before; null: not known
 * @property {number} [headAtUs] when it was made, by its timestamp
 */

/** Time limit for confirmations of the set-up, and for reorged transactions to return. */
const WAIT_MS = 20_000;
const PAUSE_MS = 250;

/**
 * Waits until the set-up has --confirmations, so that a reorg cannot remove it. Done before the common start, because
 * it takes time.
 * @param {Pick<SetUp, 'sender' | 'wallets' | 'startS'>} funded
 * @param {number} confirmations
 * @returns {Promise<number>} a block that contains the set-up
 * @throws {UnavailableError} the set-up was reorged
 */
export async function confirmSetUp({ sender, wallets, startS }, confirmations) {
  if (sender === null || confirmations === 0) return 0;
  const { rpc, clock, signal } = sender;
  const setUpBlock = (await latestHeader(rpc)).number;
  const endUs = clock.nowUs() + WAIT_MS * 1000;
  while ((await latestHeader(rpc)).number < setUpBlock + confirmations) {
    if (clock.nowUs() > endUs || signal.aborted) break;
    await clock.sleep(PAUSE_MS, signal);
  }
  await waitForNonces({ sender, wallets, startS }, endUs);
  return setUpBlock;
}

/**
 * The start block: with --confirmations, so that a reorg during the load cannot remove it.
 * @param {Pick<SetUp, 'sender' | 'wallets' | 'startS'>} funded
 * @param {number} confirmations
 * @param {number} setUpBlock
 * @returns {Promise<StartBlock>}
 * @throws {UnavailableError} the set-up was reorged
 */
export async function startBlockOf({ sender, wallets, startS }, confirmations, setUpBlock) {
  if (sender === null) return { startBlock: 0, startHash: null };
  const { rpc, clock, fees } = sender;
  const latest = await latestHeader(rpc);
  const head = latest.number;
  // The set-up may have ended long before the common start.
  fees.observe(latest.baseFeeWei, latest.excessBlobGas);
  const startBlock = Math.min(head, Math.max(setUpBlock, head - confirmations));
  const startHash = startBlock === head ? latest.hash : await nullIfRefused(hashOf(rpc, startBlock, 'setup'));
  await waitForNonces({ sender, wallets, startS }, clock.nowUs() + WAIT_MS * 1000);
  const seconds = await secondsPerBlock(rpc, latest);
  const ageMs = Math.max(0, clock.wallMs() - 1000 * (latest.timestampS ?? 0));
  return {
    startBlock,
    startHash,
    periodUs: seconds && 1e6 * seconds,
    headAtUs: clock.nowUs() - 1000 * ageMs,
  };
}

/** @param {Rpc} rpc */
async function latestHeader(rpc) {
  const header = await ask(rpc, headerAt('latest'), 'setup');
  if (header === null) throw new UnavailableError(`${rpc.display} has no latest block: is the node still starting?`);
  return header;
}

/** Waits for reorged transactions of the set-up to return. @param {{sender: Sender} & Pick<SetUp, 'wallets' | 'startS'>} funded @param {number} endUs */
async function waitForNonces({ sender, wallets, startS }, endUs) {
  const { rpc, clock, signal } = sender;
  for (;;) {
    const nonces = await askAll(
      rpc,
      wallets.map(({ address }) => nonceOf(address, 'latest')),
      'setup',
    );
    // Another run may have used the wallets since, for instance during the wait for the common start.
    const used = wallets.filter(({ nonce }, i) => nonces[i] > nonce);
    if (used.length > 0) {
      const words = `${listWallets(used)} have sent transactions that are not of this run`;
      throw await foreignSenderOf(sender, { used, nonce: used[0].nonce, words }, startS);
    }
    if (wallets.every(({ nonce }, i) => nonces[i] >= nonce)) return;
    if (clock.nowUs() > endUs || signal.aborted) {
      const words = `what the set-up sent is no longer on the chain of ${rpc.display}: its blocks were removed by a reorg; start the run again`;
      throw new UnavailableError(words);
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}

/**
 * Fails if the chain was rolled back or replaced during the run. A missing start block alone proves nothing: many nodes
 * keep only the latest blocks.
 * @param {Rpc} rpc
 * @param {StartBlock} start
 * @throws {UnavailableError}
 */
export async function assertSameChain(rpc, { startBlock, startHash }) {
  const hash = await nullIfRefused(hashOf(rpc, startBlock, 'audit'));
  if (startHash === null || hash === startHash) return;
  const isPruned = hash === null && (await ask(rpc, HEAD, 'audit')) >= startBlock;
  if (!isPruned) throw new UnavailableError(chainReplaced(rpc.display, startBlock));
}
