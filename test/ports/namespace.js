/** The network namespace that this process is in, and runs of the program in it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, spawnStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

/** As many as macOS has: 49152 to 65534. */
export const PORTS = 16_383;
const TIME_WAIT = '06';

/**
 * Makes a fresh namespace usable. Settings of the host are out of reach from here.
 * @param {{reuse: 0 | 1 | 2}} settings whether a port in TIME_WAIT may be used again after a second: never, always, or
 *   on loopback, which is the default of Linux
 * @param {number} [ports] how many there are
 */
export function prepareNamespace({ reuse }, ports = PORTS) {
  const outside = process.env.NAMESPACE_OUTSIDE;
  const isOurs = outside !== undefined && outside !== readlinkSync('/proc/self/ns/net');
  assert.ok(isOurs, 'run this by npm run test:ports: the settings are not for the network of the host');
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', `49152 ${49152 + ports - 1}`);
  writeFileSync('/proc/sys/net/ipv4/tcp_tw_reuse', String(reuse));
}

/**
 * @param {string} url of a server
 * @returns {{ours: number, theirs: number}} sockets in TIME_WAIT whose remote port, and whose local port, is the server's
 */
export function timeWaits(url) {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  const waiting = lines.map((line) => line.trim().split(/ +/)).filter(([, , , state]) => state === TIME_WAIT);
  return {
    ours: waiting.filter(([, , remote]) => remote.endsWith(`:${port}`)).length,
    theirs: waiting.filter(([, local]) => local.endsWith(`:${port}`)).length,
  };
}

/**
 * @param {TestContext} t
 * @param {string} url
 * @param {string[]} args
 */
export async function run(t, url, args) {
  const folder = temporaryFolder(t);
  const out = join(folder, 'run.json');
  const startMs = performance.now();
  const result = await spawnStress(['--rpc', url, '--out', out, ...args], {
    env: { TMPDIR: folder },
    timeoutMs: 80_000,
  }).done;
  const tookMs = performance.now() - startMs;
  assert.ok(existsSync(out), `no run file, exit ${result.code ?? result.signal}: ${result.stderr}`);
  const file = readJson(out);
  const { counts, failures, rates, generator } = file;
  t.diagnostic(
    `${args.join(' ')}: exit ${result.code}, ${rates.verifiedPerSecond.toFixed(0)}/s, ${counts.verified} verified, ` +
      `${JSON.stringify(failures)}, ${counts.timedOut} timed out, ${generator.transport.connectionsOpened} connections, ` +
      `${JSON.stringify(timeWaits(url))} in TIME_WAIT`,
  );
  assert.match(result.stderr + result.stdout, /\nSummary: /);
  return { ...result, file, tookMs };
}

/** Plain calls, for as long as it takes to use up all ports several times over. */
export const CALLS = ['-t', '20', '--workload', 'rpc', '--method', 'eth_blockNumber'];
