/** One simulated run of a configuration, with all that a law may ask of it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { TransportError } from '../../src/errors.js';
import { readEvidence } from '../../src/evidence/format.js';
import { Stop } from '../../src/core/stop.js';
import { createTextOutput } from '../../src/outputs/console.js';
import { randomNumbers } from '../../src/random.js';
import { dialectTransport } from '../helpers/dialect-node.js';
import { createMemoryChain } from '../helpers/memory-chain.js';
import { configOf, runConfig } from '../helpers/simulated-run.js';
import { BEHAVIOURS, FILES, featuresIn } from './features.js';
import { createNodePages } from './pages.js';
import { VirtualTime, createSimulatedPlatform } from './platform.js';

/**
 * @import { SeenBlock, Transport } from '../../src/contracts/chain.d.ts'
 * @import { Config } from '../../src/contracts/config.d.ts'
 * @import { BeforeLoad, Platform, Sample } from '../../src/contracts/load.d.ts'
 * @import { LiveFigures, Output } from '../../src/contracts/output.d.ts'
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Evidence } from '../../src/evidence/format.js'
 * @import { RpcRequest } from '../helpers/endpoint.js'
 * @import { Behaviour, Value } from './features.js'
 *
 * @typedef {Readonly<Record<string, string>>} Configuration value by feature
 *
 * @typedef {object} Observed
 * @property {Configuration} configuration
 * @property {string} command
 * @property {Config} config
 * @property {Behaviour} behaviour
 * @property {number} code
 * @property {RunFile | null} run null: none was made
 * @property {string[]} lines messages
 * @property {string} text of the terminal
 * @property {unknown} error that ended it without a run file
 * @property {Sample[]} samples
 * @property {SeenBlock[]} blocks
 * @property {Evidence | null} evidence null: no file was written
 * @property {string} evidenceText
 * @property {LiveFigures[]} live
 * @property {RunFile[]} partials
 * @property {string[]} requests what the nodes were asked during and after the load: microseconds since it began, node, method and parameters
 * @property {ReturnType<typeof createMemoryChain>} chain
 * @property {ReturnType<ReturnType<typeof createMemoryChain>['head']>} before the chain when the load began
 * @property {string[]} threads programs that were started in threads
 * @property {string[]} nodeWarnings of Node.js
 * @property {number} loadStartUs Infinity: it did not begin
 * @property {number[]} stopsUs when the user has stopped it
 * @property {number | null} loadEndUs null: it did not begin
 * @property {number} endUs
 */

const SECONDS = 6;
/** The last preparations of an aligned load begin at a multiple of it. */
const ALIGNED_MS = 4000;

/** @param {{stretch?: number, wallets?: number}} [options] stretch: how many times longer a load is, with the instants of what its chain does */
export function createSimulator({ stretch = 1, wallets = 6 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-simulation-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const features = featuresIn(folder);
  /** @param {Configuration} configuration */
  const wordsOf = (configuration) => {
    const values = Object.entries(configuration).map(([feature, value]) => features[feature][value]);
    const { rpcs = [1], scheme = 'http' } = features.endpoints[configuration.endpoints ?? 'one'];
    const credentials = configuration.secrets === 'planted' ? 'user:planted-password@' : '';
    const path = configuration.secrets === 'planted' ? '/v3/planted0123456789abcdef' : '';
    const urls = rpcs.flatMap((port) => ['--rpc', `${scheme}://${credentials}127.0.0.1:${port}${path}`]);
    const words = values.flatMap(({ args = '' }) => args.split(' ').filter(Boolean));
    const length = configuration.load === 'stages' ? [] : ['-d', `${SECONDS * stretch}s`];
    return {
      argv: ['-t', `${wallets}`, ...length, ...urls, ...words],
      env: Object.assign({}, ...values.map(({ env = {} }) => env)),
      funds: values.find(({ rich, richWei }) => (rich ?? richWei) !== undefined),
    };
  };
  /** @param {Configuration} configuration @returns {Promise<string | null>} why the command line is refused */
  const refusalOf = async (configuration) => {
    const { argv, env } = wordsOf(configuration);
    return configOf(argv, env).then(
      () => null,
      (error) => error.message,
    );
  };
  return {
    features,
    refusalOf,
    /**
     * @param {Configuration} configuration
     * @param {number} seed
     * @param {{isAligned?: boolean}} [options] isAligned: what the set-up does changes neither the phase nor the randomness of the load
     * @returns {Promise<Observed>}
     */
    run: (configuration, seed, { isAligned = false } = {}) =>
      simulate(configuration, seed, { ...wordsOf(configuration), stretch, isAligned }),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/**
 * @param {Configuration} configuration
 * @param {number} seed
 * @param {{argv: string[], env: NodeJS.ProcessEnv, funds?: Value, stretch: number, isAligned: boolean}} words
 * @returns {Promise<Observed>}
 */
async function simulate(configuration, seed, { argv, env, funds = {}, stretch, isAligned }) {
  const config = await configOf(argv, env);
  const behaviour = BEHAVIOURS[configuration.chain ?? 'usual'];
  const time = new VirtualTime();
  const clock = time.clock();
  const { rich, richWei } = funds;
  const chain = createMemoryChain({
    ...{ clock, ...behaviour.chain },
    ...(rich !== undefined && { rich }),
    ...(richWei !== undefined && { richWei }),
  });
  let loadStartUs = Infinity;
  /** @type {string[]} */
  const requests = [];
  const sinceLoad = () => (loadStartUs === Infinity ? -1 : (clock.nowUs() - loadStartUs) / (1e6 * stretch));
  const note = (/** @type {number} */ node, /** @type {RpcRequest} */ { method, params }) => {
    if (loadStartUs === Infinity) return;
    requests.push(`${clock.nowUs() - loadStartUs} ${node} ${method} ${JSON.stringify(params)}`);
  };
  // No two things happen at one instant.
  let latency = randomNumbers(seed + 1);
  const outages = outagesOf(behaviour, sinceLoad, stretch);
  const latencyMs = () => 10 + 4 * latency();
  const reach = async (/** @type {number} */ node) => {
    await clock.sleep(latencyMs() + outages.silentMs());
    if (outages.isAway(node)) throw new Error('connection refused');
  };
  const platform = createSimulatedPlatform(
    time,
    seed,
    transportsOf(behaviour, chain, clock, { sinceLoad, note, latencyMs, ...outages }),
    createNodePages({ clock, head: () => Number(chain.head().block.number), reach }),
  );
  const user = new User(configuration.act ?? 'none', clock, randomNumbers(seed));
  /** @type {BeforeLoad} */
  const align = () => ({
    open: async () => {},
    wait: async () => {
      await clock.sleep(ALIGNED_MS - ((clock.nowUs() / 1000) % ALIGNED_MS));
      latency = randomNumbers(seed + 1);
      platform.reseed();
    },
    begin: async () => null,
    facts: () => ({ by: null, at: null, waitedMs: null, lateMs: null }),
  });
  /** @type {number | null} */
  let loadEndUs = null;
  user.stop.drain.addEventListener('abort', () => {
    if (loadStartUs !== Infinity) loadEndUs = clock.nowUs();
  });
  /** @type {Pick<Observed, 'samples' | 'blocks' | 'live' | 'partials'> & {run: RunFile | null, before: Observed['before']}} */
  const seen = { run: null, samples: [], blocks: [], live: [], partials: [], before: chain.head() };
  /** @type {string[]} */
  const screen = [];
  /** @type {Output} */
  const recorder = {
    checkpoint: (file) => {
      seen.partials.push(file);
      if (seen.partials.length === 1) user.isReady();
    },
    begin: ({ startUs }) => {
      loadStartUs = startUs;
      seen.before = chain.head();
      for (const [seconds, act] of behaviour.acts ?? []) clock.after(() => act(chain), seconds * 1000 * stretch);
      if (behaviour.suspended !== undefined) {
        const [from, to] = behaviour.suspended;
        clock.after(() => void platform.suspend((to - from) * 1000 * stretch), from * 1000 * stretch);
      }
      user.loadBegins();
    },
    sample: (sample) => void seen.samples.push(sample),
    block: (block) => void seen.blocks.push(block),
    live: (figures) => void seen.live.push(figures),
    finish: (run) => void (seen.run = run),
    close: async () => ({}),
  };
  const stream = {
    stream: new PassThrough(),
    offer: (/** @type {string} */ line) => void screen.push(line),
    write: (/** @type {string} */ text) => void screen.push(text),
    written: async () => {},
  };
  const terminal = createTextOutput({ stream, status: undefined, verbose: false, explain: false, wide: true });
  const { evidence: evidenceFile } = config.outputs;
  if (evidenceFile !== null) rmSync(evidenceFile, { force: true });
  /** @type {string[]} */
  const nodeWarnings = [];
  const warned = (/** @type {Error} */ { name, message }) => void nodeWarnings.push(`${name}: ${message}`);
  process.on('warning', warned);
  try {
    const { code, lines, error } = await runConfig(config, {
      time,
      platform,
      outputs: [recorder, terminal],
      stop: user.stop,
      ...(isAligned && { beforeLoad: align }),
    });
    return {
      ...{ configuration, config, behaviour, code, lines, error, requests, chain, loadStartUs, ...seen },
      ...(await evidenceIn(evidenceFile)),
      ...{
        command: `stress ${argv.join(' ')}`,
        text: screen.join('\n'),
        threads: platform.threads,
        nodeWarnings,
      },
      ...{ stopsUs: user.stopsUs, loadEndUs, endUs: clock.nowUs() },
    };
  } finally {
    process.off('warning', warned);
    user.leaves();
    chain.stop();
  }
}

/** @param {string | null} file */
async function evidenceIn(file) {
  if (file === null || !existsSync(file)) return { evidence: null, evidenceText: '' };
  return { evidence: await readEvidence(file), evidenceText: readFileSync(file, 'utf8') };
}

/** Presses Ctrl-C, as cli/session.js takes it. */
class User {
  stop = new Stop();
  /** @type {number[]} */
  stopsUs = [];
  #act;
  #clock;
  #random;
  #cancels = [() => {}];

  /** @param {string} act @param {Platform['clock']} clock @param {() => number} random */
  constructor(act, clock, random) {
    this.#act = act;
    this.#clock = clock;
    this.#random = random;
    if (act === 'Ctrl-C') this.#later(14_000 * random());
    if (act === 'Ctrl-C twice') this.#later(14_000 * random(), 300 + 4000 * random());
  }

  /** The set-up is over. */
  isReady() {
    if (this.#act === 'Ctrl-C between set-up and load') this.#press();
  }

  loadBegins() {
    // The drain begins after the window.
    if (this.#act === 'Ctrl-C in the drain') this.#later(6000 + 1500 * this.#random(), 500 * this.#random());
  }

  leaves() {
    for (const cancel of this.#cancels) cancel();
  }

  /** @param {...number} delaysMs each after the one before */
  #later(...delaysMs) {
    let atMs = 0;
    for (const delayMs of delaysMs) this.#cancels.push(this.#clock.after(() => this.#press(), (atMs += delayMs)));
  }

  #press() {
    this.stopsUs.push(this.#clock.nowUs());
    if (this.stopsUs.length > 1) this.stop.abort();
    this.stop.request('interrupted', 130);
  }
}

/**
 * When the nodes cannot be reached.
 * @param {Behaviour} behaviour
 * @param {() => number} sinceLoad seconds
 * @param {number} stretch
 */
function outagesOf({ away, silent }, sinceLoad, stretch) {
  return {
    /** Until it answers again. */
    silentMs: () => {
      const [from, to] = silent ?? [Infinity, Infinity];
      return sinceLoad() >= from && sinceLoad() < to ? (to - sinceLoad()) * 1000 * stretch : 0;
    },
    /** @param {number} node */
    isAway: (node) => {
      const [from, to, only = node] = away ?? [Infinity, Infinity];
      return node === only && sinceLoad() >= from && sinceLoad() < to;
    },
  };
}

/**
 * @param {Behaviour} behaviour
 * @param {ReturnType<typeof createMemoryChain>} chain
 * @param {Platform['clock']} clock
 * @param {ReturnType<typeof outagesOf> & {sinceLoad: () => number, latencyMs: () => number, note: (node: number, request: RpcRequest) => void}} network
 *   sinceLoad: seconds; note: takes each request
 * @returns {Platform['transports']}
 */
function transportsOf({ before, after, takesMs = () => 0, lagMs = {} }, chain, clock, network) {
  const { sinceLoad, latencyMs, note, silentMs, isAway } = network;
  /** By number. @type {Map<number, (options: any) => Transport>} */
  const nodes = new Map();
  /** @param {number} node */
  const openerOf = (node) => {
    const more = () => ({ seconds: sinceLoad(), node });
    /** @type {any} */
    const dialect = {
      before: (/** @type {any} */ request, /** @type {any} */ context) => {
        const own = () => ({ ...context, ask: context.node, ...more() });
        note(node, request);
        if (isAway(node)) throw new Error('connection refused');
        const waitMs = takesMs(request) + silentMs();
        if (waitMs > 0) return clock.sleep(waitMs).then(() => before?.(request, own()));
        return before?.(request, own());
      },
      after: (/** @type {any} */ request, /** @type {any} */ answer, /** @type {any} */ context) =>
        after?.(request, answer, { ...context, ...more() }),
    };
    return dialectTransport(dialect, chain.askAfter(lagMs[node]), clock, latencyMs);
  };
  /** @param {{url: URL, timeoutMs: number}} options */
  const open = (options) => {
    const node = Number(options.url.port);
    if (!nodes.has(node)) nodes.set(node, openerOf(node));
    return /** @type {(options: any) => Transport} */ (nodes.get(node))(options);
  };
  return {
    undici: open,
    ws: (options) => withHeads(open(options), chain, clock, () => isAway(Number(options.url.port))),
  };
}

/** Between two looks at the chain. */
const PUSH_MS = 20;

/**
 * The subscription newHeads of a web socket, which is lost while its node is away.
 * @param {Transport} transport
 * @param {ReturnType<typeof createMemoryChain>} chain
 * @param {Platform['clock']} clock
 * @param {() => boolean} isAway
 * @returns {Transport}
 */
function withHeads(transport, chain, clock, isAway) {
  return {
    ...transport,
    subscribe: async (body, onPush, onLost) => {
      const { text } = await transport.post(body);
      let known = chain.head().block.hash;
      let cancel = () => {};
      const look = () => {
        if (isAway()) return onLost(new TransportError('connection reset', 'reset'));
        const { number, hash, parentHash, timestamp } = chain.head().block;
        const head = { number, hash, parentHash, timestamp };
        if (head.hash !== known)
          onPush(JSON.stringify({ method: 'eth_subscription', params: { subscription: '0x1', result: head } }));
        known = head.hash;
        cancel = clock.after(look, PUSH_MS);
      };
      look();
      return { text, end: () => cancel() };
    },
  };
}
