import { UsageError } from '../errors.js';
import { presets } from '../study/presets.js';
import { OPTIONS } from './options.js';

/**
 * What no option can say alone.
 *
 * @typedef {import('./options.js').Command} Command
 * @typedef {import('../run/run.js').Config} Config
 */

/** Options of stress compare that say something of runs that are there already. */
const OF_FILES = Object.freeze([
  ...['with', 'metric', 'fail-if', 'allow-different', 'out', 'html', 'quiet', 'log-level', 'log-file'],
]);

/** @param {Command} command @param {readonly string[]} files */
function checkFiles(command, files) {
  if (files.length === 0) throw new UsageError(`stress ${command} needs a file: stress ${command} FILE...`);
  if (files.includes('')) throw new UsageError(`stress ${command}: the name of a file is empty`);
}

/**
 * Files, or two endpoints to make them with.
 * @param {Config} config
 * @returns {boolean} whether runs are to be made
 */
function checkSides({ files, candidates, rpcA, rpcB, study }) {
  const isLive = rpcA !== null || rpcB !== null;
  if (isLive && (files.length > 0 || candidates.length > 0))
    throw new UsageError('stress compare takes run files, or --rpc-a and --rpc-b: not both');
  if (isLive && (rpcA === null || rpcB === null))
    throw new UsageError(`stress compare needs the other endpoint, too: --rpc-${rpcA === null ? 'a' : 'b'} URL`);
  if (isLive) return true;
  checkFiles('compare', [...files, ...candidates]);
  if (files.length === 0 || candidates.length === 0)
    throw new UsageError('stress compare needs run files of two sides: stress compare BASE... --with CANDIDATE...');
  const ofRuns = study.flags.find((name) => !OF_FILES.includes(name));
  if (ofRuns !== undefined)
    throw new UsageError(
      `--${ofRuns} says how runs are made, and these are there already: leave it out, or give --rpc-a and --rpc-b`,
    );
  return false;
}

/** @param {Config} config */
function checkSweep({ find, until, study, preset, thresholds }) {
  if (find === null && until.length > 0) throw new UsageError('--until says how far to search: give --find, too');
  if (find !== null && until.length === 0)
    throw new UsageError(`--find ${find} needs to know what has to hold, such as --until 'p99<2s'`);
  if (find !== null && preset !== null) throw new UsageError('--find and --preset exclude each other');
  if (find !== null && study.axes.length > 0)
    throw new UsageError(`--find ${find} searches along one option: --${study.axes[0].name} has several values`);
  if (find !== null && thresholds.length > 0)
    throw new UsageError(`--find ${find} asks what holds: give --until instead of --threshold`);
  if (find === null && study.axes.length === 0 && study.alike !== null)
    throw new UsageError(`${study.alike}: these values are alike, and a sweep needs different ones`);
  if (find === null && study.axes.length === 0)
    throw new UsageError(
      'stress sweep needs an option with several values, such as -t 10,40,100 or --rate 100..250/10; for one run: stress',
    );
}

/** What the options of the pace say together. @param {Config} config as it was given */
export function checkPace({ ratePerSecond, stages, arrival, warmupMs, durationMs }) {
  if (ratePerSecond !== null && stages !== null) throw new UsageError('--rate and --stages exclude each other');
  if (stages !== null && durationMs !== null)
    throw new UsageError('--stages and --duration exclude each other: the stages say how long each takes');
  if (arrival !== null && ratePerSecond === null && stages === null)
    throw new UsageError(`--arrival ${arrival} needs a rate to arrive at: give --rate or --stages`);
  if (stages !== null && warmupMs > 0 && stages[0].fromPerSecond === 0)
    throw new UsageError(
      'a --warmup goes at the rate that the stages begin with, which is 0: begin them with another, or leave it out',
    );
}

/** @param {Command} command @param {Config} config @param {NodeJS.ProcessEnv} env */
export function checkTogether(command, config, env) {
  if (command === 'report' || command === 'trend') return checkFiles(command, config.files);
  if (command === 'compare' && !checkSides(config)) return;
  if (command === 'sweep') checkSweep(config);
  // Each run is checked again when it has its number of wallets.
  if (config.threads === null && presets[config.preset ?? '']?.derived?.includes('threads')) return;
  if (config.threads === null)
    throw new UsageError('-t (--threads) is missing: how many wallets? For instance: stress -t 200 -o 0');
  if (config.offset + config.threads > 2 ** 31)
    throw new UsageError(
      `-o ${config.offset} and -t ${config.threads} go beyond wallet ${2 ** 31 - 1}, the last one there can be`,
    );
  if (config.keys !== null && config.mnemonic !== null)
    throw new UsageError('--keys and --mnemonic exclude each other (look into the environment, too)');
  for (const { name, key, workload } of OPTIONS) {
    if (workload !== undefined && workload !== config.workload && config[/** @type {keyof Config} */ (key)] !== null)
      throw new UsageError(`--${name} is an option of --workload ${workload}`);
  }
  if (typeof config.workers === 'number' && config.workers > config.threads)
    throw new UsageError(`--workers ${config.workers} are more than the wallets they share (-t ${config.threads})`);
  if (typeof config.workers === 'number' && config.workers > config.connections)
    throw new UsageError(`--workers ${config.workers} need a connection each (--connections ${config.connections})`);
  if (config.gasPriceWei !== null && config.maxFeeWei !== null)
    throw new UsageError('--gas-price and --max-fee exclude each other');
  if (config.allowChain !== null && config.chainId !== null && config.allowChain !== config.chainId)
    throw new UsageError('--allow-chain and --chain-id name different chains');
  if (config.nodeSeries !== null && config.nodeMetrics === null)
    throw new UsageError('--node-series needs the page that they are on: --node-metrics URL');
  if ((command === 'fund' || command === 'reclaim') && config.rpc === null)
    throw new UsageError(`stress ${command} needs an endpoint: --rpc URL`);
  if (command === 'fund' && config.fundFrom === null)
    throw new UsageError('stress fund needs a funder: --fund-from FILE, or its key in STRESS_FUNDER_KEY');
  if (command === 'reclaim' && config.to === null && config.fundFrom === null)
    throw new UsageError('stress reclaim needs a receiver: --to ADDRESS or --fund-from');
  if ((command === 'sweep' || command === 'compare') && config.durationMs === null)
    throw new UsageError(`stress ${command} needs to know how long each of its runs is: --duration, such as -d 30s`);
  if (command === 'run' && config.durationMs === null && /^(true|1)$/i.test(env.CI ?? '')) {
    throw new UsageError(
      'CI is set and there is no --duration: a job that never ends helps nobody; give one, for instance -d 30s',
    );
  }
}
