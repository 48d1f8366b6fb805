/** The tools of the HTTP benchmark: where they come from, how each is called, what it prints. */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../../src/errors.js';
import { NotYetError } from './lib.js';

/**
 * @typedef {object} Job what every tool is asked for
 * @property {string} url
 * @property {number} seconds
 * @property {number} connections
 * @property {string} folder for files that a tool needs
 *
 * @typedef {object} Tool
 * @property {string} name
 * @property {(job: Job) => string[]} command
 * @property {(output: string, job: Job) => number} rate requests a second, from what it printed
 *
 * @typedef {object} Measured
 * @property {number} rate requests a second, as the tool says
 * @property {number} cpuUs of the whole process, start-up included
 */

/** 63 bytes, what a client sends that follows the head of a chain. */
const BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
const CONTENT_TYPE = 'application/json';
const STRESS = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));
const NPM_TOOLS = ['autocannon@8', 'loadtest@8'];
/** A tool that hangs must not hang the benchmark. */
const OVERHEAD_MS = 60_000;

/** More than ab can do. */
const AB_MOST_PER_SECOND = 500_000;

/** Runs a command, and then has the shell say on standard error how much CPU its children took. */
const WITH_TIMES = '"$@"; code=$?; times >&2; exit $code';

function cacheFolder() {
  const { EVM_STRESS_CACHE, XDG_CACHE_HOME } = process.env;
  return join(EVM_STRESS_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'evm-stress'), 'bench-tools');
}

/** Makes sure that the tools are there. @returns {string[]} their versions */
export function ensureTools() {
  const missing = ['ab', 'wrk', 'nginx'].filter((name) => spawnSync(name, ['-v']).error !== undefined);
  if (missing.length > 0) {
    throw new Error(`${missing.join(', ')} missing: apt-get install -y apache2-utils wrk nginx-light`);
  }
  const folder = cacheFolder();
  const manifest = (/** @type {string} */ name) => join(folder, 'node_modules', name, 'package.json');
  const names = NPM_TOOLS.map((tool) => tool.split('@')[0]);
  if (!names.every((name) => existsSync(manifest(name)))) {
    mkdirSync(folder, { recursive: true });
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const npm = spawnSync('npm', ['install', '--prefix', folder, ...quiet, ...NPM_TOOLS], { stdio: 'inherit' });
    if (npm.status !== 0) throw new Error(`cannot install ${NPM_TOOLS.join(' and ')} into ${folder}`);
  }
  const ab = /Version ([\d.]+)/.exec(spawnSync('ab', ['-V'], { encoding: 'utf8' }).stdout)?.[1];
  const wrk = /wrk ([\w./+-]+)/.exec(spawnSync('wrk', ['-v'], { encoding: 'utf8' }).stdout)?.[1];
  const fromNpm = names.map((name) => `${name} ${JSON.parse(readFileSync(manifest(name), 'utf8')).version}`);
  return [`ab ${ab}`, `wrk ${wrk}`, ...fromNpm];
}

/** The files that tools want their body in. @param {string} folder */
export function writeBodies(folder) {
  writeFileSync(join(folder, 'body.json'), BODY);
  writeFileSync(
    join(folder, 'post.lua'),
    `wrk.method = "POST"\nwrk.body = '${BODY}'\nwrk.headers["Content-Type"] = "${CONTENT_TYPE}"\n`,
  );
}

/** @returns {Tool} */
export function ab() {
  return {
    name: 'ab -k',
    command: ({ url, seconds, connections, folder }) => [
      // -t alone would stop after 50,000 requests, and memory for all of them is taken at once.
      ...['ab', '-q', '-k', '-t', `${seconds}`, '-n', `${seconds * AB_MOST_PER_SECOND}`, '-c', `${connections}`],
      ...['-p', join(folder, 'body.json'), '-T', CONTENT_TYPE, url],
    ],
    rate: (output) =>
      figure(/Requests per second: +([\d.]+)/, output, /(?:Failed requests|Non-2xx responses): +(\d+)/g),
  };
}

/** @returns {Tool} */
export function wrk() {
  return {
    name: 'wrk -t1',
    command: ({ url, seconds, connections, folder }) => [
      ...['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', join(folder, 'post.lua'), url],
    ],
    rate: (output) => figure(/Requests\/sec: +([\d.]+)/, output, /Non-2xx or 3xx responses: +(\d+)/g),
  };
}

/** @returns {Tool} */
export function autocannon() {
  const program = join(cacheFolder(), 'node_modules', 'autocannon', 'autocannon.js');
  return {
    name: 'autocannon',
    command: ({ url, seconds, connections }) => [
      ...[process.execPath, program, '-j', '-n', '-c', `${connections}`, '-d', `${seconds}`, '-m', 'POST', '-b', BODY],
      ...['-H', `content-type=${CONTENT_TYPE}`, url],
    ],
    rate: (output) => {
      const { requests, duration, non2xx } = JSON.parse(output.slice(output.indexOf('{')));
      if (non2xx > 0) throw new Error(`autocannon: ${non2xx} answers were not 2xx`);
      return requests.total / duration;
    },
  };
}

/** @param {{tcp: boolean}} options @returns {Tool} */
export function loadtest({ tcp }) {
  const program = join(cacheFolder(), 'node_modules', 'loadtest', 'bin', 'loadtest.js');
  return {
    name: `loadtest ${tcp ? '--tcp' : '-k'}`,
    command: ({ url, seconds, connections }) => [
      ...[process.execPath, program, '-t', `${seconds}`, '-c', `${connections}`, '--cores', '1'],
      ...['-P', BODY, '-T', CONTENT_TYPE],
      // Its HTTP client sends chunks unless it is told the length, which costs more on both sides.
      ...(tcp ? ['--tcp'] : ['-H', `content-length:${BODY.length}`, '-k']),
      url,
    ],
    rate: (output) => figure(/Effective rps: +(\d+)/, output, /Total errors: +(\d+)/g),
  };
}

/** @param {string} transport @returns {Tool} */
export function stress(transport) {
  return {
    name: `stress --transport ${transport}`,
    command: ({ url, seconds, connections, folder }) => [
      ...[process.execPath, STRESS, '--workload', 'rpc', '--method', 'eth_blockNumber', '--params', '[]'],
      // nginx answers with one id, whatever it is asked.
      ...['--fixed-id', '1', '--rpc', url, '-t', `${connections}`, '--connections', `${connections}`],
      ...['--transport', transport, '-d', `${seconds}s`, '--out', join(folder, 'run.json')],
    ],
    rate: (_, { folder }) => {
      const { rates, counts } = JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8'));
      if (counts.failed > 0) throw new Error(`stress: ${counts.failed} requests failed`);
      return rates.verifiedPerSecond;
    },
  };
}

/** @param {RegExp} pattern @param {string} output @param {RegExp} errors what says that requests failed @returns {number} */
function figure(pattern, output, errors) {
  const match = pattern.exec(output);
  if (match === null) throw new Error(`cannot read this: ${output}`);
  for (const [line, count] of output.matchAll(errors)) if (Number(count) > 0) throw new Error(line);
  return Number(match[1]);
}

/** @param {Tool} tool @param {Job} job @returns {Promise<Measured>} */
export function measure(tool, job) {
  return new Promise((resolve, reject) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('STRESS_')));
    const options = { env, timeout: job.seconds * 1000 + OVERHEAD_MS };
    execFile('sh', ['-c', WITH_TIMES, 'sh', ...tool.command(job)], options, (error, stdout, stderr) => {
      if (error?.code === EXIT.usage) return reject(new NotYetError(stderr.split('\n')[0]));
      if (error !== null) return reject(new Error(`${tool.name}: ${stderr || error.message}`));
      try {
        resolve({ rate: tool.rate(stdout, job), cpuUs: childrensCpuUs(stderr) });
      } catch (cause) {
        reject(cause);
      }
    });
  });
}

/** What `times` says of the children in its last line: 0m1.230000s 0m0.450000s. @param {string} stderr */
function childrensCpuUs(stderr) {
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  const parts = [...last.matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) throw new Error(`cannot read these times: ${last}`);
  return parts.reduce((sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1e6, 0);
}
