/**
 * A published experiment again, on a real node that is started for it: makes the tables of docs/evidence.md.
 *
 *     node scripts/reproduce.js geth|avalanche [--period N] [--few-ports] flare|cometbft|stellar [option of stress...]
 *
 * The options of each experiment are in docs/examples; --rpc and the keys are added, and others can be given. The runs
 * are in a folder with the name of the experiment. With --few-ports (Linux, root) node and load are alone in a network
 * namespace with 16,383 local ports, none of which is used again while it is in TIME_WAIT.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startAvalanche } from './nodes/avalanche.js';
import { startGeth } from './nodes/geth.js';

/**
 * @import { RunFile } from '../src/contracts/run-file.d.ts'
 * @import { SweepCell, SweepFile } from '../src/contracts/study.d.ts'
 */

const SELF = fileURLToPath(import.meta.url);
const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const NAMESPACE = readlinkSync('/proc/self/ns/net');

/** The mnemonic of development chains: AvalancheGo's chain id is none of those on which it is the default. */
const MNEMONIC = 'test test test test test test test test test test test junk';

/** The column that no figure has: CPU of the node in its busiest interval, in percent of a core. */
const MAX_CPU = 'max CPU';
/** In shorter intervals the resolution of the system's CPU times is too coarse. */
const MIN_INTERVAL_MS = 500;

/** Columns of the published tables: figures and their factors. @type {Record<string, Array<[string, string, number]>>} */
const TABLES = {
  flare: [
    ['max waits', 'timewait', 1],
    ['max CPU %', MAX_CPU, 1],
    ['TPS', 'tps', 1],
    ...['avg', 'max', 'min'].map((name) => /** @type {[string, string, number]} */ ([`${name} ms`, name, 1e-3])),
  ],
  cometbft: [
    ['transactions', 'verified', 1],
    ['TPS', 'tps', 1],
    ['avg ms', 'avg', 1e-3],
  ],
  stellar: [
    ['TPS', 'tps', 1],
    ...['p50', 'p90', 'inclusion.p50', 'readback.p50'].map(
      (name) => /** @type {[string, string, number]} */ ([`${name} ms`, name, 1e-3]),
    ),
  ],
};

/** The table of an experiment, in Markdown. @param {string} name @param {SweepFile} sweep */
function tableOf(name, { axes, cells }) {
  const columns = TABLES[name];
  const row = (/** @type {string[]} */ texts) => `| ${texts.join(' | ')} |`;
  const value = (
    /** @type {SweepCell} */ { metrics, runs },
    /** @type {string} */ figure,
    /** @type {number} */ factor,
  ) => {
    const values = figure === MAX_CPU ? runs.map(({ file }) => maxCpu(`${name}/${file}`)) : metrics[figure];
    const known = values.filter((one) => one !== null);
    const mean = known.reduce((sum, one) => sum + one, 0) / known.length;
    return known.length === 0 ? '-' : (factor * mean).toLocaleString('en-US', { maximumSignificantDigits: 4 });
  };
  return [
    row([...axes.map((axis) => axis.name), ...columns.map(([head]) => head), 'saturated']),
    row([...axes, ...columns, ''].map(() => '---')),
    ...cells.map((cell) =>
      row([
        ...axes.map((axis) => cell.settings[axis.name]),
        ...columns.map(([, figure, factor]) => value(cell, figure, factor)),
        cell.saturated ? '*' : '',
      ]),
    ),
    '',
  ].join('\n');
}

/** @param {string} file of a run @returns {number | null} */
function maxCpu(file) {
  const { intervals } = /** @type {RunFile} */ (JSON.parse(readFileSync(file, 'utf8')));
  const shares = intervals.flatMap(({ phase, startMs, endMs, probes: { node } }) => {
    const ms = endMs - startMs;
    return phase !== 'load' || ms < MIN_INTERVAL_MS || node === null ? [] : [node.cpuUs / (10 * ms)];
  });
  return shares.length === 0 ? null : Math.max(...shares);
}

/** @param {string[]} args @param {NodeJS.ProcessEnv} [env] @returns {Promise<number>} the exit code */
async function start([command, ...args], env = process.env) {
  const child = spawn(command, args, { env, stdio: 'inherit' });
  // A Ctrl-C reaches it without us; it drains, and we wait for that.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
  const [code, signal] = await once(child, 'exit');
  return code ?? 128 + constants.signals[/** @type {NodeJS.Signals} */ (signal)];
}

/** Settings of this namespace only: those of the host are out of reach from here. */
async function limitPorts() {
  if (process.env.REPRODUCE_OUTSIDE === NAMESPACE) throw new Error('this is still the network of the host');
  await start(['ip', 'link', 'set', 'lo', 'up']);
  writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', '49152 65534');
  writeFileSync('/proc/sys/net/ipv4/tcp_tw_reuse', '0');
}

/** @param {string[]} args */
async function main([name, ...args]) {
  const hasFewPorts = args.includes('--few-ports');
  if (hasFewPorts && process.env.REPRODUCE_OUTSIDE === undefined) {
    const env = { ...process.env, REPRODUCE_OUTSIDE: NAMESPACE };
    return start(['unshare', '--net', process.execPath, SELF, name, ...args], env);
  }
  if (hasFewPorts) await limitPorts();
  const at = args.indexOf('--period');
  const period = at < 0 ? 0 : Number(args[at + 1]);
  const rest = args.filter((arg, i) => arg !== '--few-ports' && (at < 0 || (i !== at && i !== at + 1)));
  const node = name === 'avalanche' ? await startAvalanche() : await startGeth({ period });
  try {
    const env = { ...process.env, STRESS_FUNDER_KEY: node.funderKey, STRESS_MNEMONIC: MNEMONIC };
    const [experiment, ...options] = rest;
    const config = fileURLToPath(new URL(`../docs/examples/${experiment}.json`, import.meta.url));
    const watched = ['--rpc', node.url, '--chain-id', String(node.chainId), '--node-pid', String(node.pid)];
    const given = ['--config', config, '--dir', experiment, ...options, ...watched];
    const exitCode = await start([process.execPath, STRESS, 'sweep', ...given], env);
    process.stdout.write(`\n${tableOf(experiment, JSON.parse(readFileSync(`${experiment}/sweep.json`, 'utf8')))}`);
    return exitCode;
  } finally {
    await node.stop();
  }
}

if (!['geth', 'avalanche'].includes(process.argv[2]) || !process.argv.some((word) => Object.hasOwn(TABLES, word))) {
  process.stderr.write(`reproduce: give a node, geth or avalanche, and one of ${Object.keys(TABLES).join(', ')}\n`);
  process.exitCode = 64;
} else process.exitCode = await main(process.argv.slice(2));
