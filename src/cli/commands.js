import { ask, codeOf, nullIfRefused } from '../chain/answers.js';
import { fundOnDevChain, isFree, startDevChain } from '../chain/devchain.js';
import { payMissing, reclaim, settleWallets, shortfalls } from '../chain/funding.js';
import { DEFAULT_HD_PATH } from '../chain/keys.js';
import { createRpc, displayUrl } from '../chain/rpc.js';
import { waitForEndpoints } from '../chain/wait-for.js';
import {
  abandonable,
  chooseKeys,
  deriveWallets,
  interruptible,
  openNetwork,
  openSender,
  openTransport,
  readChainAndKeys,
  readKeys,
} from '../core/connect.js';
import { exactAmount } from '../coin.js';
import { estimatePayments, gasOnChain } from '../core/costs.js';
import { run } from '../core/run.js';
import { splitLoad } from '../core/mixed-engine.js';
import { paymentsOf, walletNeedWei } from '../core/setup.js';
import { EXIT, InternalError, RefusedError, UnavailableError, UsageError, displayName, worstExit } from '../errors.js';
import { checkWritable, claimFile, isWorkloadFile, writeFileAtomically } from '../files.js';
import { say, status, stdout, streamForPeople } from '../outputs/streams.js';
import { columnsOf } from '../outputs/terminal.js';
import { transportsOf } from '../transport/choose.js';
import { checkCallSettings } from '../workloads/calls.js';
import { readContractsFile } from '../workloads/counter.js';
import { readCall } from '../workloads/contract-abi.js';
import { DELEGATION } from '../workloads/first-calls.js';
import { createWorkload } from '../workloads/index.js';
import { contractCalls, labelOf } from '../workloads/table.js';
import { commonJsPackageOf, loadWorkloadFile } from '../workloads/user-file.js';
import { counted, partOf, shellWord } from '../text.js';
import { checkCallNames, claimInstanceFiles, filesNamed, valueOf, writtenBy } from './checks.js';
import { workloadFiles } from './config.js';
import { OPTIONS } from './options.js';

/**
 * @import { ChainInfo, Rpc, Sender, Wallet } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Config, RunContext as RunSurroundings } from '../contracts/config.d.ts'
 * @import { BeforeLoad, InstanceConfig } from '../contracts/load.d.ts'
 * @import { OutputConfig } from '../contracts/output.d.ts'
 * @import { WorkCommand } from './options.js'
 */

/**
 * What each command does with its Config.
 *
 * @typedef {Omit<RunSurroundings, 'outputs'>} RunContext
 */

/** The port that tools look for a development chain on. */
const USUAL_PORT = 8545;

/** What is paid beforehand, for each wei that a load is estimated to need. */
const FUND_MARGIN = 2n;

/** @type {Record<WorkCommand, (config: Config, context: RunContext) => Promise<number>>} */
export const commands = {
  run: async (config, context) => {
    const { calls, contracts, mix, workload } = config.workload;
    for (const { use, file } of filesNamed(config))
      if ((use === 'written' || use === 'kept') && file !== '-') await checkWritable(file);
    if (contracts !== null) readContractsFile(contracts);
    const artifacts = new Map();
    for (const { name, call } of contractCalls(config.workload)) await readCall(call, name, { artifacts });
    const names = calls === null ? [] : await checkCallSettings({ ...config.workload, calls });
    // A workload of the user's own gives names as it goes.
    for (const file of workloadFiles(config.workload)) await abandonable(context.stop, () => loadWorkloadFile(file));
    const kinds = [...names, ...mix.map(({ name }) => labelOf(name))];
    if (!isWorkloadFile(workload)) checkCallNames(config.study.thresholds, workload, kinds);
    const giveBack = claimInstanceFiles(config);
    /** @type {number} */
    let exitCode = EXIT.cannotWrite;
    try {
      const outputs = await wantedOutputs(config, context.version);
      exitCode = await run(config, { ...context, outputs, beforeLoad: await commonStartOf(config.instance) });
    } finally {
      if (exitCode === EXIT.cannotWrite) giveBack();
    }
    sayWritten(config, exitCode);
    return exitCode;
  },

  'new-workload': async ({ outputs, study: { files } }) => {
    const { newWorkload, workloadFileOf } = await import('../workloads/new-file.js');
    const [given] = files;
    const file = workloadFileOf(given);
    const found = commonJsPackageOf(file);
    if (found !== null) {
      const module = displayName(file.replace(/js$/, 'mjs'));
      throw new UsageError(`${displayName(found)} says "type": "commonjs": name the workload ${module}`);
    }
    const text = await newWorkload(given);
    claimFile(file, `${displayName(file)} is there already: give another name`);
    await writeFileAtomically(file, text);
    const what = file === given ? 'that runs as it is' : 'with a call of each function: change its values';
    say(outputs, `${displayName(file)} is a workload ${what}; docs/workloads.md says how to go on`);
    say(outputs, `next: stress -t 5 -d 3s --workload ${shellWord(displayName(file))}`);
    return EXIT.ok;
  },

  node: async ({ load, wallets: { offset }, network, outputs, ...config }, { clock, transports, stop, onProgress }) => {
    const chain = await startNode(config.chain.port, clock);
    try {
      const transport = openTransport(
        transports,
        { ...network, transport: 'undici', connections: 4, requestTimeoutMs: 10_000, noKeepAlive: false },
        chain.url,
      );
      const source = chooseKeys({ source: null, funder: null }, DEFAULT_HD_PATH, chain.url, 31337);
      const wallets = await deriveWallets(source, [{ offset, threads: load.threads }], stop.drain, onProgress);
      await fundOnDevChain(
        createRpc(transport, displayUrl(chain.url)),
        wallets.map(({ address }) => address),
      );
      await transport.close();
      const url = displayUrl(chain.url);
      say(
        outputs,
        `${url} (chain 31337): wallets ${offset}..${offset + load.threads - 1} of the well-known test mnemonic are funded; use it with: stress --rpc ${url} -t N -o N. Ctrl-C ends it`,
      );
      const asked = new Promise((resolve) => stop.drain.addEventListener('abort', resolve));
      // A signal that came while the wallets were funded is no event any more.
      if (!stop.drain.aborted) await Promise.race([asked, chain.ended]);
      if (!stop.drain.aborted) throw new UnavailableError(`the chain ended: ${await chain.ended}`);
      return worstExit(stop.exitCodes);
    } finally {
      await chain.stop();
    }
  },

  learn: async (config, context) => {
    const [{ learn }, { resultText }] = await Promise.all([import('../learn/learn.js'), import('../outputs/table.js')]);
    const { outputs } = config;
    const notice = (/** @type {string} */ line) => say(outputs, line);
    const { exitCode, result, json } = await learn(config, { ...context, say: notice });
    say(outputs, resultText(result, columnsOf(streamForPeople(outputs).stream)));
    if (outputs.out === '-') stdout.write(json);
    sayWritten(config, exitCode);
    return exitCode;
  },

  fund: (config, context) =>
    connected(config, context, async ({ wallets, funder, sender, chain }) => {
      const { load, workload: settings } = splitLoad(config).own;
      const { fundAmountWei, maxSpendWei } = config.wallets;
      const workload = await abandonable(context.stop, () =>
        createWorkload(settings.workload, { rpc: sender.rpc, settings, threads: load.threads }),
      );
      if (workload.kind === 'call')
        throw new UsageError(`--workload ${settings.workload} sends no transactions: there is nothing to fund`);
      await workload.measure?.(wallets);
      const gas = await gasOnChain(sender.rpc, present(funder), workload.gas);
      const notice = (/** @type {string} */ line) => say(config.outputs, line);
      const words = fundAmountWei === null ? ' (twice the estimated need)' : '';
      let [needWei, wanting] = [0n, 0];
      const plan = async () => {
        const estimateWei = walletNeedWei({ ...config.load, fundAmountWei }, gas, sender.fees, chain);
        // The fee may rise before the load, which asks again what it needs.
        needWei = fundAmountWei ?? FUND_MARGIN * estimateWei;
        const missing = shortfalls(wallets, await settleWallets(sender, wallets), needWei);
        wanting = Math.max(wanting, missing.length);
        const payments = await paymentsOf(present(funder), sender, wallets, missing, notice);
        const about = { chain, fees: sender.fees, wallets: missing.length, payments };
        const foreseen = estimatePayments({ capWei: maxSpendWei, ...about });
        if (foreseen !== null) say(config.outputs, foreseen);
        return payments;
      };
      const { paidWei, transactions } = await accounted(config.outputs, wallets.length, 'topped up', (onDone) =>
        payMissing(sender, plan, (paid) => {
          const done = Math.min(paid, wanting);
          onDone(done);
          context.onProgress('funding wallets', done, wanting);
        }),
      );
      say(
        config.outputs,
        `${partOf(wanting, wallets.length, 'wallet')} topped up to ${exactAmount(needWei)}${words}: ${exactAmount(paidWei)} in ${counted(transactions, 'transaction')}`,
      );
    }),

  reclaim: (config, context) =>
    connected(config, context, async ({ wallets, funder, sender }) => {
      const to = config.wallets.to ?? present(funder).address;
      await refuseContract(sender.rpc, to);
      const back = await accounted(config.outputs, wallets.length, 'emptied', (onDone) =>
        reclaim(sender, wallets, to, (done) => {
          onDone(done);
          context.onProgress('reclaiming', done, wallets.length);
        }),
      );
      say(
        config.outputs,
        `${exactAmount(back.returnedWei)} sent to ${to} from ${partOf(back.wallets, wallets.length, 'wallet')}`,
      );
    }),

  report: study('report'),
  find: study('find'),
  sweep: study('sweep'),
  compare: study('compare'),
  bisect: study('bisect'),
  trend: study('trend'),
  merge: study('merge'),

  verify: async (config, context) => {
    const { verify } = await import('./verify-command.js');
    return verify(config, context);
  },
};

/**
 * Most runs are part of no study and have no page: what these need is loaded when it is asked for, because each module
 * costs time at every start.
 * @param {'report' | 'find' | 'sweep' | 'compare' | 'bisect' | 'trend' | 'merge'} name
 * @returns {(config: Config, context: RunContext) => Promise<number>}
 */
function study(name) {
  return async (config, context) => {
    const { runStudyCommand } = await import('./study-commands.js');
    const exitCode = await runStudyCommand(name, config, context);
    sayWritten(config, exitCode);
    return exitCode;
  };
}

/** Not when one of them could not be written: an older file may have its name. @param {Config} config @param {number} exitCode */
function sayWritten(config, exitCode) {
  const names = exitCode === EXIT.cannotWrite ? [] : writtenBy(config);
  if (names.length > 0) say(config.outputs, `written: ${names.join(', ')}`);
}

/** The outputs that the options select, in the order of the table. @param {Config} config @param {string} version */
async function wantedOutputs(config, version) {
  const options = {
    ...config.outputs,
    results: config.instance.results,
    stream: streamForPeople(config.outputs),
    status,
    info: { version, workload: config.workload.workload, transport: transportsOf(config.network, config.chain) },
    instance: config.instance,
  };
  const creators = OPTIONS.flatMap((option) => {
    const { output } = option;
    const isWanted = output?.wanted?.(config.outputs) ?? valueOf(config, option) !== null;
    return output !== undefined && isWanted ? [output.load()] : [];
  });
  return (await Promise.all(creators)).map((create) => create(options));
}

/** @param {InstanceConfig} instance @returns {Promise<BeforeLoad | undefined>} */
async function commonStartOf({ startAtMs, barrier }) {
  if (startAtMs === null && barrier === null) return undefined;
  const { CommonStart } = await import('../scale-out/start.js');
  return (options) => new CommonStart(options);
}

/** What src/cli/config.js has made sure of. @template T @param {T | null} value @returns {T} */
function present(value) {
  if (value === null) throw new InternalError('an option that was checked is missing');
  return value;
}

/** @param {number | null} port @param {Clock} clock */
async function startNode(port, clock) {
  if (port === null) return startDevChain(clock, (await isFree(USUAL_PORT)) ? { port: USUAL_PORT } : {});
  if (!(await isFree(port))) throw new UnavailableError(`port ${port} is taken: give --port another one`);
  return startDevChain(clock, { port });
}

/**
 * Says how far it came where the rest fails or is interrupted.
 * @template T
 * @param {OutputConfig} outputs
 * @param {number} all wallets
 * @param {string} done what was done to a wallet
 * @param {(onDone: (wallets: number) => void) => Promise<T>} action
 */
async function accounted(outputs, all, done, action) {
  let wallets = 0;
  try {
    return await action((now) => (wallets = now));
  } catch (error) {
    if (wallets > 0)
      say(
        outputs,
        `${partOf(wallets, all, 'wallet')} ${done} before it ended, perhaps some more; the same command again does the rest`,
      );
    throw error;
  }
}

/**
 * A token, or a contract of a load, gives no coins back. An account that delegates to a contract has a key.
 * @param {Rpc} rpc
 * @param {string} address
 * @throws {RefusedError}
 */
async function refuseContract(rpc, address) {
  const code = (await nullIfRefused(ask(rpc, codeOf(address), 'setup'))) ?? '0x';
  if (code === '0x' || code.startsWith(DELEGATION)) return;
  throw new RefusedError(
    `stress reclaim sends no coins to ${address}: it is a contract, which may not give them back; give the address of a key in --to`,
  );
}

/**
 * Connects, checks the chain, hands over the wallets of all instances, and cleans up.
 * @param {Config} config
 * @param {RunContext} context
 * @param {(tools: {wallets: Wallet[], funder: Wallet | null, sender: Sender, chain: ChainInfo}) => Promise<void>} action
 */
async function connected(config, context, action) {
  const { clock, random, transports, stop, onProgress } = context;
  const url = present(config.chain.rpc[0] ?? null);
  const { hdPath, offset } = config.wallets;
  const instances = config.instance.instances ?? 1;
  const given = readKeys(config.wallets, config.load.threads * instances);
  // A mix with calls sends from the first wallets of each slice.
  const { threads } = splitLoad(config).own.load;
  const slices = Array.from({ length: instances }, (_, i) => ({ offset: offset + i * config.load.threads, threads }));
  const asked = { ...config.network, transport: 'auto', noKeepAlive: false };
  const retryOptions = { clock, random, signals: { setup: stop.drain } };
  const { sendRpc: sendUrl } = config.chain;
  const network = openNetwork(transports, asked, { urls: [url], sendUrl, clock, home: 0, retryOptions });
  try {
    await interruptible(stop, network, async () => {
      const wait = { clock, signal: stop.drain, notice: (/** @type {string} */ line) => say(config.outputs, line) };
      const open = { urls: [url], endpoints: network, clock };
      await waitForEndpoints(config.chain, { ...open, ...wait });
      const { chain, source } = await readChainAndKeys(config.chain, hdPath, { ...open, given, stop });
      const { txTimeoutMs: timeoutMs } = asked;
      const priced = { ...config.wallets, isGuarded: config.chain.allowChain !== null };
      const own = { clock, random, stop, timeoutMs, notice: wait.notice };
      const sender = await openSender(priced, own, network.rpc, chain);
      const wallets = await deriveWallets(source, slices, stop.drain, onProgress);
      onProgress('reading wallets', 0, wallets.length);
      await action({ wallets, funder: given.funder, sender, chain });
    });
    return EXIT.ok;
  } finally {
    await network.close();
  }
}
