import { checkWritable } from '../files.js';
import { startDevChain, fundOnDevChain } from '../chain/devchain.js';
import { ether, reclaim, settleWallets, shortfalls } from '../chain/funding.js';
import { createRpc, displayUrl } from '../chain/rpc.js';
import { createSigner } from '../chain/signer.js';
import { DEFAULT_HD_PATH, funderWallet } from '../chain/wallets.js';
import { UnavailableError, UsageError, worstExit } from '../errors.js';
import { outputs } from '../output/index.js';
import { chooseFees, chooseKeys, deriveWallets, openTransport, readChain } from '../run/connect.js';
import { run } from '../run/run.js';
import { fundFrom, walletNeedWei } from '../run/setup.js';
import { workloads } from '../workload/index.js';

/**
 * What each command does with its Config.
 *
 * @typedef {import('../run/run.js').Config} Config
 * @typedef {Omit<import('../run/run.js').Surroundings, 'outputs'>} Surroundings
 */

/** The port that tools look for a development chain on. */
const USUAL_PORT = 8545;

/** @type {Record<import('./options.js').Command, (config: Config, surroundings: Surroundings) => Promise<number>>} */
export const commands = {
  run: async (config, surroundings) => {
    for (const file of [config.out, config.contracts]) if (file !== null && file !== '-') checkWritable(file);
    const stream = config.out === '-' ? process.stderr : process.stdout;
    const options = { stream, verbose: config.verbose, explain: config.explain, out: config.out };
    const wanted = [
      ...(config.quiet ? [] : [outputs.text(options)]),
      ...(config.out === null ? [] : [outputs.json(options)]),
    ];
    return run(config, { ...surroundings, outputs: wanted });
  },

  node: async (config, { clock, stop, onProgress }) => {
    const chain = await startNode(config, clock);
    try {
      const transport = openTransport(
        { ...config, transport: 'undici', connections: 4, requestTimeoutMs: 10_000 },
        chain.url,
      );
      const source = chooseKeys({ ...config, hdPath: DEFAULT_HD_PATH }, chain.url, 31337);
      const wallets = await deriveWallets(source, config, stop.drain, onProgress);
      await fundOnDevChain(
        createRpc(transport, displayUrl(chain.url)),
        wallets.map(({ address }) => address),
      );
      await transport.close();
      const url = displayUrl(chain.url);
      say(
        config,
        `${url} (chain 31337): wallets ${config.offset}..${config.offset + config.threads - 1} of the well-known test mnemonic are funded; use it with: stress --rpc ${url} -t N -o N. Ctrl-C ends it`,
      );
      await Promise.race([new Promise((resolve) => stop.drain.addEventListener('abort', resolve)), chain.ended]);
      if (!stop.drain.aborted) throw new UnavailableError(`the chain ended: ${await chain.ended}`);
      return worstExit(stop.exitCodes);
    } finally {
      await chain.stop();
    }
  },

  fund: (config, surroundings) =>
    withWallets(config, surroundings, async ({ wallets, sender, onProgress }) => {
      const needWei = walletNeedWei(
        config,
        workloads.counter({ rpc: sender.rpc, contractsFile: null }).gas,
        sender.fees,
      );
      const missing = shortfalls(wallets, await settleWallets(sender, wallets), needWei);
      const { transactions, paidWei } = await fundFrom(config.fundFrom ?? '', sender, wallets, missing, onProgress);
      say(
        config,
        `${missing.length} of ${wallets.length} wallets topped up to ${ether(needWei)}: ${ether(paidWei)} in ${transactions} transactions`,
      );
    }),

  reclaim: (config, surroundings) =>
    withWallets(config, surroundings, async ({ wallets, sender, onProgress }) => {
      const to = config.to ?? funderWallet(config.fundFrom ?? '').address;
      const back = await reclaim(sender, wallets, to, (done) => onProgress('reclaiming', done, wallets.length));
      say(config, `${ether(back.returnedWei)} sent to ${to} from ${back.wallets} of ${wallets.length} wallets`);
    }),
};

/** @param {Config} config @param {string} line */
function say(config, line) {
  if (!config.quiet) process.stdout.write(`${line}\n`);
}

/** @param {Config} config @param {import('../clock.js').Clock} clock */
async function startNode({ port }, clock) {
  if (port !== null) return startDevChain(clock, { port });
  return startDevChain(clock, { port: USUAL_PORT }).catch(() => startDevChain(clock));
}

/**
 * Connects, checks the chain, derives the slice, hands them over, and cleans up.
 * @param {Config} config
 * @param {Surroundings} surroundings
 * @param {(tools: {wallets: import('../chain/wallets.js').Wallet[], sender: import('../chain/send.js').Sender, onProgress: Surroundings['onProgress']}) => Promise<void>} action
 */
async function withWallets(config, { clock, stop, onProgress }, action) {
  const url = config.rpc;
  if (url === null) throw new UsageError('an endpoint is needed: --rpc URL');
  const transport = openTransport({ ...config, transport: 'undici' }, url);
  stop.now.addEventListener('abort', () => void transport.close());
  try {
    const rpc = createRpc(transport, displayUrl(url));
    const chain = await readChain(rpc, url, config);
    const source = chooseKeys(config, url, chain.chainId);
    const wallets = await deriveWallets(source, config, stop.drain, onProgress);
    const fees = await chooseFees(rpc, chain, config);
    const sender = {
      rpc,
      clock,
      signer: createSigner(),
      fees,
      chainId: chain.chainId,
      timeoutMs: config.txTimeoutMs,
      signal: stop.drain,
    };
    await action({ wallets, sender, onProgress });
    return worstExit(stop.exitCodes);
  } finally {
    await transport.close();
  }
}
