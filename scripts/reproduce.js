/**
 * A study on a real node, started for it: how the tables of docs/reproductions.md are made.
 *
 *     node scripts/reproduce.js geth|avalanche [--period N] [--few-ports] COMMAND [option of stress...]
 *
 * COMMAND is one of stress, such as `sweep --preset flare`; --rpc and the keys are added. With --few-ports (Linux, root)
 * node and load are alone in a network namespace with 16,383 local ports, none of which may be used again for as long
 * as it is in TIME_WAIT.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startAvalanche } from './nodes/avalanche.js';
import { startGeth } from './nodes/geth.js';

const SELF = fileURLToPath(import.meta.url);
const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const NAMESPACE = readlinkSync('/proc/self/ns/net');

/** The mnemonic of development chains: AvalancheGo's chain id is none of those on which it is the default. */
const MNEMONIC = 'test test test test test test test test test test test junk';

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
    const [command, ...options] = rest;
    const watched = ['--rpc', node.url, '--chain-id', String(node.chainId), '--node-pid', String(node.pid)];
    return await start([process.execPath, STRESS, command, ...options, ...watched], env);
  } finally {
    await node.stop();
  }
}

if (!['geth', 'avalanche'].includes(process.argv[2])) {
  process.stderr.write('reproduce: which node, geth or avalanche?\n');
  process.exitCode = 64;
} else process.exitCode = await main(process.argv.slice(2));
