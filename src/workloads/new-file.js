import { readFileSync } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import { InputError } from '../errors.js';
import { readArtifactFile } from './contract-abi.js';

/**
 * The workload file that stress new-workload writes: the template, or one that is made from a contract.
 *
 * @import { FunctionFragment, ParamType } from 'ethers/abi'
 */

/** A workload itself, which the tests run. */
const TEMPLATE = new URL('./template.js', import.meta.url);

/** FILE.sol, or FILE.sol:NAME. */
export const SOLIDITY = /^(.*)\.sol(?::(\w+))?$/;

/** Values that a type has in the file. @type {ReadonlyArray<[pattern: RegExp, source: (size: number) => string]>} */
const SAMPLES = [
  [/^u?int/, () => '1n'],
  [/^bool$/, () => 'true'],
  [/^address$/, () => 'next'],
  [/^string$/, () => "'text'"],
  [/^bytes(\d+)$/, (size) => `'0x${'00'.repeat(size)}'`],
  [/^bytes$/, () => "'0x'"],
];

/** @param {string} file as the user gave it @returns {string} the name of the workload file */
export function workloadFileOf(file) {
  const [, path, named] = SOLIDITY.exec(file) ?? [];
  return path === undefined ? file : `${(named ?? basename(path)).toLowerCase()}.mjs`;
}

/** @param {string} file that is written, or Solidity @returns {Promise<string>} */
export async function newWorkload(file) {
  const [, path, named] = SOLIDITY.exec(file) ?? [];
  if (path === undefined) return readFileSync(TEMPLATE, 'utf8');
  const { name, fragments } = await readArtifactFile(file, 'new-workload');
  const all = /** @type {FunctionFragment[]} */ (fragments.filter(({ type }) => type === 'function'));
  const functions = all.filter(({ constant }) => !constant);
  if (functions.length === 0)
    throw new InputError(`${name} has no function that changes its state: there is nothing to load`);
  const constructor = fragments.find(({ type }) => type === 'constructor');
  const inputs = constructor?.inputs ?? [];
  const source = relative(resolve('.'), resolve(`${path}.sol`)).replaceAll('\\', '/');
  return fileOf({ source, named, inputs, functions, workload: workloadFileOf(file) });
}

/**
 * @param {{source: string, named: string | undefined, inputs: readonly ParamType[], functions: readonly FunctionFragment[], workload: string}} given
 *   inputs: of the constructor
 */
function fileOf({ source, named, inputs, functions, workload }) {
  const calls = functions.map((one, i) => {
    const values = one.inputs.map(sampleOf).join(', ');
    const paid = one.payable ? ', value: 0n' : '';
    const comment = i === 0 ? '' : '// ';
    return `  ${comment}({ next, index, nonce }) => ({ name: '${one.format('sighash')}', values: [${values}]${paid} }),`;
  });
  return `/**
 * A workload from ${source}: each operation calls one of its functions.
 *
 *     stress -t 5 -d 3s --workload ./${workload}
 *
 * docs/workloads.md explains every part, and calls that need no code: --workload contract.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which contract between stress and this file it is written for. */
export const contract = 'evm-stress/workload@1';

/** Compiled in prepare(), and deployed once, by the first wallet. */
const SOURCE = join(import.meta.dirname, ${JSON.stringify(source)});

/** Values of the constructor${inputs.length === 0 ? ', which takes none' : `: ${inputs.map((one) => one.format('full')).join(', ')}`}. */
const constructorValues = (next) => [${inputs.map(sampleOf).join(', ')}];

/** Functions that change the contract. */
const ABI = [
${functions.map((one) => `  '${one.format('full')}',`).join('\n')}
];

/**
 * The calls, which take turns: change their values, and uncomment those that you want. next: address of the next wallet;
 * index: of the wallet. Numbers are bigints, such as 5n.
 */
const CALLS = [
${calls.join('\n')}
];

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, state }) {
  const abi = kit.abi(ABI);
  // Known in prepare(), and handed over to worker threads.
  let { to = '', wallets = [], gasLimits = [] } = state ?? {};

  /** One of CALLS, of a wallet by its index. */
  const callOf = (number, index, nonce) => {
    const next = wallets[(index + 1) % wallets.length];
    const { name, values, value = 0n } = CALLS[number]({ next, index, nonce });
    return { to, data: abi.encodeFunctionData(name, values), value, gasLimit: gasLimits[number] };
  };

  return {
    kind: 'transaction',

    /** Before the load. What each wallet must do first, such as a mint, is sent by kit.sendAll(). */
    async prepare() {
      wallets = kit.addresses();
      const artifact = await kit.compile(readFileSync(SOURCE, 'utf8')${named === undefined ? '' : `, { contract: '${named}' }`});
      to = await kit.deployOnce(artifact, ...constructorValues(wallets[0]));
      const from = wallets[0];
      const labelOf = (call) => call({ next: from, index: 0, nonce: 0 }).name;
      const estimate = (call, number) => kit.estimateGas({ ...callOf(number, 0, 0), from, label: labelOf(call) });
      gasLimits = await Promise.all(CALLS.map(estimate));
    },

    /** The operation of a wallet, which must depend on position and nonce only. */
    next(position, nonce) {
      const index = kit.indexOf(position);
      return callOf((index + nonce) % CALLS.length, index, nonce);
    },

    /** What a worker thread needs. */
    handOver: () => ({ to, wallets, gasLimits }),
  };
}
`;
}

/** Source of a value. @param {ParamType} type @returns {string} */
function sampleOf(type) {
  if (type.isTuple()) return `[${type.components.map(sampleOf).join(', ')}]`;
  if (type.isArray())
    return `[${Array.from({ length: Math.max(1, type.arrayLength) }, () => sampleOf(type.arrayChildren)).join(', ')}]`;
  for (const [pattern, source] of SAMPLES) {
    const found = pattern.exec(type.type);
    if (found !== null) return source(Number(found[1] ?? 0));
  }
  return 'undefined';
}
