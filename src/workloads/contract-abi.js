import { existsSync, readFileSync, statSync } from 'node:fs';
import {
  AbiCoder,
  ConstructorFragment,
  EventFragment,
  Fragment,
  FunctionFragment,
  Interface,
  ParamType,
} from 'ethers/abi';
import { concat, toQuantity } from 'ethers/utils';
import { InputError, UsageError, displayName, errnoWords, oneLine } from '../errors.js';
import { readJsonFile } from '../json-file.js';
import { counted, quote } from '../text.js';
import { hasArtifact, readArtifact } from './contract-state.js';
import { compile as compileSolidity } from './solidity.js';
import { OF_OPERATIONS, compile } from './templates.js';

/**
 * What a contract call names: ABIs, artifacts, functions, events and their values. All of it is checked before a chain is
 * asked.
 *
 * @import { ContractCall } from '../contracts/load.d.ts'
 * @import { RpcError } from '../errors.js'
 * @import { TemplateValues } from './calls.js'
 * @import { Compiled, Need } from './templates.js'
 *
 * @typedef {object} Encoder of data
 * @property {string} words the function with its types, or the place of the calldata
 * @property {(values: TemplateValues) => string} dataOf
 * @property {(values: TemplateValues) => void} check throws for values of another type
 * @property {ReadonlySet<Need>} needs of its templates
 * @property {boolean} isConstant
 *
 * @typedef {object} Abi
 * @property {string} name of its file, for messages
 * @property {readonly Fragment[]} fragments
 * @property {readonly Unreadable[]} unreadable entries with a type that cannot be encoded
 *
 * @typedef {{type: string, name: string, why: string}} Unreadable
 *
 * @typedef {Abi & {bytecode: string, libraries: readonly string[]}} Artifact libraries: that it needs to be linked with
 *
 * @typedef {Map<string, Promise<Artifact>>} Artifacts by file: each is read, or compiled, once
 *
 * @typedef {object} PlannedCall a call that was read
 * @property {Interface} abi decodes errors
 * @property {readonly string[] | null} fragments of the files; null: without an ABI
 * @property {string} words the function with its types, or what is known of the calldata
 * @property {readonly Encoder[]} encoders one, or one of each line of a file of calldata
 * @property {Encoder | null} creation of the contract
 * @property {Encoder | null} before
 * @property {EventFragment | null} event
 */

/** Errors of tokens (ERC-6093), which are decoded without an ABI. */
export const TOKEN_ERRORS = Object.freeze([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidSender(address sender)',
  'error ERC20InvalidReceiver(address receiver)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
  'error ERC721InsufficientApproval(address operator, uint256 tokenId)',
  'error ERC721InvalidSender(address sender)',
  'error ERC721InvalidReceiver(address receiver)',
  'error OwnableUnauthorizedAccount(address account)',
]);

/** Functions, or events, that a message lists. */
const MOST_LISTED = 12;

/** Lines of a file of calldata: each is a call whose gas is estimated. */
const MOST_LINES = 1000;

/** Lines of the file of a template whose values are checked. */
const LINES_CHECKED = 10_000;

const ADDRESS = /^0x[0-9a-f]{40}$/i;

const EXAMPLES = Object.freeze({
  function: 'transfer(address,uint256)',
  event: 'Transfer(address,address,uint256)',
});

/** How a message names an option: a member of `workloads` has the name of its call before it. @param {string} call @param {string} option */
export function optionOf(call, option) {
  return call === 'contract' ? `--${option}` : `${call}: ${option}`;
}

/**
 * Reads the files of a call, and checks its values against the types.
 * @param {ContractCall} call
 * @param {string} name of the call
 * @param {object} [shared]
 * @param {readonly string[] | null} [shared.known] fragments that were read before, for a worker thread
 * @param {Artifacts} [shared.artifacts] those of other calls
 * @returns {Promise<PlannedCall>}
 * @throws {UsageError | InputError}
 */
export async function readCall(call, name, { known, artifacts = new Map() } = {}) {
  const label = (/** @type {string} */ option) => optionOf(name, option);
  const read = (/** @type {string} */ file, /** @type {string} */ option) => {
    const reading = artifacts.get(file) ?? readArtifactFile(file, label(option));
    artifacts.set(file, reading);
    return reading;
  };
  const isNew = known === undefined;
  const artifact = isNew && call.deploy !== null ? deployable(await read(call.deploy, 'deploy')) : null;
  const given = isNew && call.abi !== null ? await read(call.abi, 'abi') : artifact;
  const fragments = known?.map((text) => Fragment.from(JSON.parse(text))) ?? null;
  const abi = fragments === null ? given : { name: 'the ABI', fragments, unreadable: [] };
  const called = call.function === null ? null : functionNamed(call.function, label('function'), abi);
  if (called !== null && call.callValueWei && abi !== null && !called.payable)
    throw new UsageError(`${label('call-value')}: ${signatureOf(called)} is not payable, as ${abi.name} says`);
  const before = call.before === null ? null : functionNamed(call.before, label('before'), abi);
  const event = call.checkEvent === null ? null : fragmentOf(call.checkEvent, label('check-event'), 'event', abi);
  if (event instanceof EventFragment && event.anonymous)
    throw new UsageError(`${label('check-event')}: ${signatureOf(event)} is anonymous, so that its logs have no name`);
  return {
    abi: new Interface([...(abi?.fragments ?? []), ...TOKEN_ERRORS]),
    fragments: abi && abi.fragments.map((one) => one.format('json')),
    words: called === null ? `calldata ${String(call.calldata).slice(0, 10)}` : signatureOf(called),
    encoders:
      called === null
        ? calldataOf(String(call.calldata), label('calldata'))
        : [encoderOf(called, call.args, label('args'))],
    creation: artifact && encoderOf(artifact, call.deployArgs, label('deploy-args')),
    before: before && encoderOf(before, call.beforeArgs, label('before-args')),
    event: /** @type {EventFragment | null} */ (event),
  };
}

/**
 * An ABI, an artifact of Foundry or Hardhat, a contract that is compiled (FILE.sol, or FILE.sol:NAME), or one of this program.
 * @param {string} file
 * @param {string} option
 * @returns {Promise<Artifact>}
 */
export async function readArtifactFile(file, option) {
  const [, source, contract] = /^(.*\.sol)(?::(\w+))?$/.exec(file) ?? [];
  if (source !== undefined) {
    const name = displayName(source);
    const choose = `name one of its contracts, such as ${option} ${name}:NAME`;
    const compiled = await compileSolidity(readSource(source), { contract, place: name, caller: '', choose });
    return {
      name,
      ...fragmentsOf(/** @type {any[]} */ (compiled.abi), name),
      bytecode: compiled.bytecode,
      libraries: [],
    };
  }
  if (isOwnContract(file)) {
    const { abi, bytecode } = readArtifact(file);
    return { name: file, ...fragmentsOf(abi, file), bytecode, libraries: [] };
  }
  const advice = `give ${option} an artifact of Foundry or Hardhat${option.endsWith('abi') ? ', or an ABI' : ', or FILE.sol'}`;
  const json = readJsonFile(file, { what: option.endsWith('abi') ? 'ABI' : 'artifact', advice });
  const abi = Array.isArray(json) ? json : json?.abi;
  const name = displayName(file);
  if (!Array.isArray(abi)) throw new InputError(`${name} has no ABI, which is a JSON array; ${advice}`);
  const { object = json.bytecode, linkReferences = json.linkReferences ?? {} } = json.bytecode ?? {};
  const libraries = Object.values(linkReferences).flatMap((ofFile) => Object.keys(Object(ofFile)));
  const bytecode = `0x${String(object ?? '').replace(/^0x/, '')}`;
  return { name, ...fragmentsOf(abi, name), bytecode, libraries };
}

/** A contract of this program by its name, where no file has it. @param {string} text */
function isOwnContract(text) {
  return /^[A-Z]\w*$/.test(text) && !existsSync(text) && hasArtifact(text);
}

/** Entries of an ABI that have a name and inputs. */
const NAMED = ['function', 'event', 'error', 'constructor'];

/** @param {readonly any[]} abi @param {string} name of its file @returns {Pick<Abi, 'fragments' | 'unreadable'>} */
function fragmentsOf(abi, name) {
  /** @type {Fragment[]} */
  const fragments = [];
  /** @type {Unreadable[]} */
  const unreadable = [];
  for (const [i, entry] of abi.entries()) {
    try {
      fragments.push(Fragment.from(entry));
    } catch {
      const odd = Array.isArray(entry?.inputs) && NAMED.includes(entry.type) ? oddTypeIn(entry) : null;
      if (odd === null) {
        const shown = quote(JSON.stringify(entry));
        throw new InputError(
          `${name}: entry ${i + 1} of the ABI is no function, event, error or constructor: ${shown}`,
        );
      }
      const why = `has the type ${quote(odd)}, which cannot be encoded`;
      unreadable.push({ type: entry.type, name: String(entry.name ?? entry.type), why });
    }
  }
  return { fragments, unreadable };
}

/** The first type of an entry that ethers does not have, such as `function`, or an enum of a library. @param {any} entry @returns {string | null} */
function oddTypeIn({ inputs, outputs = [] }) {
  const isOdd = (/** @type {unknown} */ input) => {
    try {
      ParamType.from(/** @type {any} */ (input));
      return false;
    } catch {
      return true;
    }
  };
  const odd = [...inputs, ...outputs].find(isOdd);
  return odd === undefined ? null : (odd.components?.find(isOdd)?.type ?? odd.type ?? null);
}

const DEPLOYED_ELSEWHERE = 'deploy it with another tool, and give --contract-address and --abi';

/** @param {Artifact} artifact @returns {Artifact} @throws {InputError} it cannot be deployed */
function deployable(artifact) {
  const { name, bytecode, libraries, unreadable } = artifact;
  if (libraries.length > 0 || bytecode.includes('__'))
    throw new InputError(
      `${name} needs to be linked with ${oneLine(libraries.join(', ') || 'a library', 100)}: ${DEPLOYED_ELSEWHERE}`,
    );
  if (!/^0x([0-9a-f]{2})+$/i.test(bytecode))
    throw new InputError(`${name} has no bytecode to deploy: an ABI, an interface and an abstract contract have none`);
  const creation = unreadable.find(({ type }) => type === 'constructor');
  if (creation !== undefined) throw new InputError(`${name}: its constructor ${creation.why}: ${DEPLOYED_ELSEWHERE}`);
  return artifact;
}

/** @param {string} file */
function readSource(file) {
  try {
    if (!statSync(file).isFile()) throw new Error('it is not a file');
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError(`cannot read ${displayName(file)}: ${errnoWords(error)}`, error);
  }
}

/** @param {string} text @param {string} option @param {Abi | null} abi */
function functionNamed(text, option, abi) {
  return /** @type {FunctionFragment} */ (fragmentOf(text, option, 'function', abi));
}

/**
 * A function or an event, by its name in an ABI, or with its types.
 * @param {string} text
 * @param {string} option
 * @param {'function' | 'event'} type
 * @param {Abi | null} abi null: not known
 * @returns {FunctionFragment | EventFragment}
 */
function fragmentOf(text, option, type, abi) {
  const bare = text.trim().replace(new RegExp(`^${type}\\s+`), '');
  const isName = /^[a-z_$][\w$]*$/i.test(bare);
  const known = /** @type {FunctionFragment[]} */ ((abi?.fragments ?? []).filter((one) => one.type === type));
  if (/^(receive|fallback)\b/.test(bare) && !known.some(({ name }) => bare.startsWith(name)))
    throw new UsageError(
      `${option} ${quote(bare)} is no function that a call can name: give --calldata 0x in its place`,
    );
  const asked = isName ? null : parsedFragment(bare, option, type);
  if (abi === null) {
    if (asked !== null) return asked;
    throw new UsageError(
      `${option} ${quote(bare)} has no types: give them, such as '${EXAMPLES[type]}', or --abi FILE`,
    );
  }
  const found = known.filter((one) => (asked === null ? one.name === bare : signatureOf(one) === signatureOf(asked)));
  if (found.length === 1) return found[0];
  if (found.length > 1)
    throw new UsageError(`${option} ${quote(bare)} is overloaded in ${abi.name}: give ${listed(found, ' or ')}`);
  const [odd] = abi.unreadable.filter((one) => one.type === type && one.name === bare.split('(')[0]);
  if (odd !== undefined)
    throw new InputError(
      `${abi.name}: ${odd.name} ${odd.why}${type === 'function' ? ': give its data with --calldata 0x...' : ''}`,
    );
  const there = known.length === 0 ? 'it has none' : `it has ${listed(known, ', ')}`;
  throw new InputError(
    `${abi.name} has no ${type} ${quote(bare)}: ${there}; for a proxy, give the ABI of the contract behind it`,
  );
}

/** @param {string} bare @param {string} option @param {'function' | 'event'} type */
function parsedFragment(bare, option, type) {
  try {
    return type === 'function' ? FunctionFragment.from(`function ${bare}`) : EventFragment.from(`event ${bare}`);
  } catch {
    throw new UsageError(
      `${option} must be a name with types, such as '${EXAMPLES[type]}', not ${quote(bare)}; an enum is uint8, a contract address, a struct (its types)`,
    );
  }
}

/** @param {FunctionFragment | EventFragment} fragment */
function signatureOf(fragment) {
  return fragment.format('sighash');
}

/** @param {readonly FunctionFragment[]} fragments @param {string} between */
function listed(fragments, between) {
  const rest = fragments.length - MOST_LISTED;
  const words = fragments.slice(0, MOST_LISTED).map((one) => oneLine(signatureOf(one), 100));
  return words.join(between) + (rest > 0 ? `, and ${rest} more` : '');
}

/**
 * @param {FunctionFragment | Artifact} called a function, or a contract to create
 * @param {readonly unknown[] | null} given values
 * @param {string} option
 * @returns {Encoder}
 */
function encoderOf(called, given, option) {
  const isFunction = called instanceof FunctionFragment;
  const constructor = isFunction ? null : called.fragments.find((one) => one instanceof ConstructorFragment);
  const inputs = isFunction ? called.inputs : (constructor?.inputs ?? []);
  const words = isFunction ? signatureOf(called) : `constructor(${inputs.map((one) => one.format('sighash')).join()})`;
  const start = isFunction ? called.selector : called.bytecode;
  const list = given ?? [];
  if (list.length !== inputs.length) {
    const hint =
      inputs.length === 1 && /array|tuple/.test(inputs[0].baseType) ? ', which is a list in the list: [[1,2]]' : '';
    throw new UsageError(`${option} has ${counted(list.length, 'value')}, and ${words} takes ${inputs.length}${hint}`);
  }
  const coder = AbiCoder.defaultAbiCoder();
  const compiled = compiledFor(list, option);
  const valuesFor = (/** @type {TemplateValues} */ values) => /** @type {unknown[]} */ (compiled.make(values));
  /** @type {Encoder['check']} */
  const check = (sample) =>
    valuesFor(sample).forEach((value, i) => {
      const fault = faultOf(inputs[i], value, { words, place: `value ${i + 1}` });
      if (fault !== null) throw new UsageError(`${option}: ${fault}`);
    });
  samplesOf(compiled).forEach(check);
  return {
    words,
    check,
    dataOf: (values) => {
      const typedValues = valuesFor(values).map((value, i) => typed(inputs[i], value));
      return concat([start, coder.encode(inputs, typedValues)]);
    },
    needs: compiled.needs,
    isConstant: compiled.isConstant,
  };
}

/** @param {unknown} value @param {string} option @returns {Compiled} */
function compiledFor(value, option) {
  try {
    return compile(value, OF_OPERATIONS);
  } catch (error) {
    throw new UsageError(`${option}: ${/** @type {Error} */ (error).message}`);
  }
}

/** Values that the templates of a call may have: those of each line of a file, and high numbers. @param {Compiled} compiled @returns {TemplateValues[]} */
function samplesOf({ isConstant, lines }) {
  const count = isConstant ? 1 : Math.min(lines, LINES_CHECKED) + 1;
  return Array.from({ length: count }, (_, i) => {
    const isLast = i > 0 && i === count - 1;
    return /** @type {any} */ ({
      user: { index: 0 },
      addresses: [`0x${'1'.repeat(40)}`],
      pick: (/** @type {string} */ _key, /** @type {number} */ below) => (isLast ? below - 1 : i % below),
      // The last index is checked when it is known.
      walletIndex: isLast ? 1 : 0,
      nonce: isLast ? 10_000 : i,
    });
  });
}

/**
 * What is wrong with a value, at the place within it that has the fault.
 * @param {ParamType} type
 * @param {unknown} value
 * @param {{words: string, place: string}} where words: what it is a value of
 * @returns {string | null}
 */
function faultOf(type, value, { words, place }) {
  try {
    const parts = partsOf(type, value);
    for (const { path, ...part } of parts ?? []) {
      const fault = faultOf(part.type, part.value, { words, place: place + path });
      if (fault !== null) return fault;
    }
    if (parts === null) AbiCoder.defaultAbiCoder().encode([type], [typed(type, value)]);
    return null;
  } catch {
    const members = type.isTuple() && !Array.isArray(value) ? `; its members are ${namesOf(type.components)}` : '';
    return `${place} of ${words} must be of type ${type.format('sighash')}, not ${shown(value)}${members}`;
  }
}

/**
 * Elements of an array, or members of a tuple, which may be an object.
 * @param {ParamType} type
 * @param {unknown} value
 * @returns {Array<{type: ParamType, value: unknown, path: string}> | null} null: it is of another type
 * @throws {Error} the value has others
 */
function partsOf(type, value) {
  if (!type.isArray() && !type.isTuple()) return null;
  const members = type.isTuple() ? type.components : null;
  const isList = Array.isArray(value);
  const parts = isList ? value : (members ?? []).map(({ name }) => Object(value)[name]);
  const isAnySize = isList && type.arrayLength === -1;
  const size = isAnySize ? parts.length : (members?.length ?? type.arrayLength);
  if (parts.length !== size || Object.keys(Object(value)).length !== size) throw new Error('others');
  return parts.map((part, i) => {
    const of = /** @type {ParamType} */ (members?.[i] ?? type.arrayChildren);
    return { type: of, value: part, path: isList ? `[${i}]` : `.${of.name}` };
  });
}

/** A value of JSON, or its text, as ethers takes it. @param {ParamType} type @param {unknown} value @returns {unknown} */
function typed(type, value) {
  const parts = partsOf(type, value);
  if (parts !== null) return parts.map((part) => typed(part.type, part.value));
  if (!['string', 'number', 'boolean'].includes(typeof value)) throw new Error('a list');
  if (type.type === 'string') return String(value);
  const text = String(value).trim();
  // Every other text would be true.
  if (type.type !== 'bool') return text;
  if (!['true', 'false'].includes(text)) throw new Error('neither true nor false');
  return text === 'true';
}

/** @param {readonly ParamType[]} members */
function namesOf(members) {
  return oneLine(members.map(({ name }, i) => name || `number ${i + 1}`).join(', '), 200);
}

/** An address is no key. A list or an object that may have one is described by its size or its names. @param {unknown} value */
function shown(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const quoted = ADDRESS.test(text) ? `"${text}"` : quote(text);
  if (!quoted.includes('***') || typeof value !== 'object') return quoted;
  if (Array.isArray(value)) return `a list of ${counted(value.length, 'value')}`;
  return `an object with ${oneLine(Object.keys(Object(value)).join(', '), 200)}`;
}

/**
 * Calldata, or a file with calldata in each line; # starts a comment line.
 * @param {string} text
 * @param {string} option
 * @returns {Encoder[]}
 */
function calldataOf(text, option) {
  if (text.startsWith('0x')) return [dataOf(text, option)];
  const name = displayName(text);
  const lines = readSource(text)
    .split(/\r?\n/)
    .map((line, i) => ({ line: line.trim(), where: `${name}, line ${i + 1}` }))
    .filter(({ line }) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0)
    throw new InputError(`${name} has no calldata: give one in each line, 0x and hexadecimal digits`);
  if (lines.length > MOST_LINES) throw new InputError(`${name} has ${lines.length} lines: give at most ${MOST_LINES}`);
  return lines.map(({ line, where }) => dataOf(line, where));
}

/** Templates whose value is decimal, which calldata cannot have. */
const DECIMAL = /\{\{\s*(number|nonce|unique|wallet\.index)(?=[\s}])/;

/** @param {string} text @param {string} where @returns {Encoder} */
function dataOf(text, where) {
  const [, decimal] = DECIMAL.exec(text) ?? [];
  if (decimal !== undefined)
    throw new InputError(`${where}: {{${decimal}}} is a decimal number: give {{${decimal}.word}}, which is 32 bytes`);
  const { make, needs, isConstant, lines } = compiledFor(text, where);
  /** @type {Encoder['check']} */
  const check = (sample) => {
    const fault = hexFault(String(make(sample)), text);
    if (fault !== null) throw new InputError(`${where}: calldata must be 0x and pairs of hexadecimal digits, ${fault}`);
  };
  samplesOf({ make, needs, isConstant, lines }).forEach(check);
  return { words: where, check, dataOf: (values) => String(make(values)), needs, isConstant };
}

/** Calldata may look like a key, so that it is not shown. @param {string} data @param {string} text as it was given @returns {string | null} */
function hexFault(data, text) {
  if (!data.startsWith('0x')) return `not ${quote(text)}`;
  const odd = /[^0-9a-f]/i.exec(data.slice(2));
  if (odd !== null) return `and ${quote(odd[0])} is behind ${counted(odd.index, 'digit')}`;
  return data.length % 2 === 0 ? null : `and has ${counted(data.length - 2, 'digit')}`;
}

/** Longest reason, in characters. */
const MOST_REASON = 300;

/** What Solidity means by the codes of a panic. @type {Readonly<Record<string, string>>} */
const PANICS = Object.freeze({
  '0x1': 'an assertion failed',
  '0x11': 'arithmetic overflow',
  '0x12': 'division by zero',
  '0x21': 'no value of the enum',
  '0x31': 'pop of an empty array',
  '0x32': 'index out of range',
  '0x41': 'too much memory',
});

/** Some nodes wrap the data of an error in an object, or in words. @param {unknown} data @returns {string | null} */
function hexOf(data) {
  return /0x[0-9a-f]{8,}/i.exec(typeof data === 'string' ? data : String(JSON.stringify(data)))?.[0] ?? null;
}

/**
 * Why a call is reverted, decoded by the ABI.
 * @param {Interface} abi
 * @param {unknown} data of the error answer
 * @returns {string | null} null: it cannot be decoded
 */
export function revertWords(abi, data) {
  const hex = hexOf(data);
  if (hex === null) return null;
  try {
    const error = abi.parseError(hex);
    if (error === null) return null;
    const { name, args, fragment } = error;
    if (name === 'Error') return oneLine(args[0], MOST_REASON);
    const code = name === 'Panic' ? toQuantity(args[0]) : '';
    if (code !== '') return `panic ${code}${PANICS[code] ? ` (${PANICS[code]})` : ''}`;
    const values = fragment.inputs.map((input, i) => `${input.name ? `${input.name} ` : ''}${args[i]}`);
    return oneLine(`${name}(${values.join(', ')})`, MOST_REASON);
  } catch {
    return null;
  }
}

/** The reason of an error answer. @param {Interface} abi @param {RpcError} error @param {boolean} [sendsValue] the call has one */
export function refusalWords(abi, { rpcMessage, data }, sendsValue = false) {
  const words = revertWords(abi, data);
  if (words !== null) return `reverted: ${words}`;
  // The node has decoded it, or it is another error.
  if (!/revert/i.test(rpcMessage) || /:(?! custom error)/.test(rpcMessage)) return rpcMessage;
  const hex = hexOf(data);
  return hex === null
    ? `${rpcMessage} without a reason: check that the contract has this function and takes these values${sendsValue ? ', and that it is payable' : ''}`
    : `${rpcMessage} with the error ${hex.slice(0, 10)}: an --abi FILE that has it names it`;
}
