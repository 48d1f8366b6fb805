/** Run files that a test has made, and what the commands that read them make of them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exited } from './cli.js';
import { runFileOf } from './samples.js';
import { temporaryFolder } from './temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 */

/** Readers refuse a run file without these. */
const CONFIG = {
  ...{ command: 'run', workload: 'counter', threads: 2, inFlight: 1, ratePerSecond: null },
  ...{ offset: 0, rpc: null, durationMs: 2000, mnemonic: null, fundFrom: null },
};
const ENVIRONMENT = {
  ...{ stress: '1.0.0', clientVersion: 'node/v1', cpu: 'a cpu', cores: 2, node: 'v20', platform: 'linux-x64' },
  ...{ memoryBytes: 8e9, embeddedChain: false, chainId: 1, genesisHash: null },
  ...{ blockGasLimit: 3e7, feeMode: 'eip1559', signer: 'secp256k1' },
  transport: { name: 'tcp', connections: 1, keepAlive: true },
  inclusion: { name: 'blocks', why: 'as asked' },
};

/** @param {Parameters<typeof runFileOf>[0]} [given] @returns {ReturnType<typeof runFileOf>} which readers take */
export function readableRun(given = {}) {
  const [config, environment] = [
    { ...CONFIG, ...given.config },
    { ...ENVIRONMENT, ...given.environment },
  ];
  return runFileOf({ ...given, config, environment });
}

/**
 * What a command makes of files.
 * @param {TestContext} t
 * @param {string[]} words of the command line; HTML is the name of a page
 * @param {Record<string, object>} files by their names, with .json or without, which follow the words
 * @param {{exit?: number, env?: NodeJS.ProcessEnv}} [options]
 */
export async function readBy(t, words, files, { exit = 0, env } = {}) {
  const cwd = temporaryFolder(t);
  const names = Object.entries(files).map(([name, content]) => {
    const fileName = /\.json$/i.test(name) ? name : `${name}.json`;
    const file = join(cwd, fileName);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(content));
    return fileName;
  });
  const { stdout, stderr } = await exited(exit, [...words, ...names], { cwd, env });
  return { stdout, stderr, read: (/** @type {string} */ name) => readFileSync(join(cwd, name), 'utf8') };
}

/** @param {string} name */
const dashed = (name) => name.replaceAll(' ', '-');

/**
 * What stress report prints of each run.
 * @param {TestContext} t
 * @param {Record<string, object>} runs by their names
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Record<string, string>>}
 */
export async function reportTexts(t, runs, env) {
  const files = Object.fromEntries(Object.entries(runs).map(([name, run]) => [dashed(name), run]));
  // A file alone has no heading.
  const { stdout } = await readBy(t, ['report'], { ...files, last: readableRun() }, { env });
  const parts = stdout.split(/^(?:\n)?(\S+)\.json:\n/m);
  const texts = new Map(parts.flatMap((part, i) => (i % 2 === 1 ? [[part, parts[i + 1]]] : [])));
  return Object.fromEntries(Object.keys(runs).map((name) => [name, texts.get(dashed(name)) ?? 'nothing']));
}

/**
 * @param {TestContext} t
 * @param {object} run or a sweep, or a comparison
 * @returns {Promise<string>} the page that stress report makes of it
 */
export async function reportPage(t, run) {
  return (await readBy(t, ['report', '--html', 'page.html'], { run })).read('page.html');
}
