import { oneLine } from '../errors.js';
import { similarNames } from '../similar-names.js';
import { quote } from '../text.js';
import { NO_CALL } from '../workloads/table.js';
import * as parse from './parse.js';

/**
 * Options of --workload contract, and the calls of `workloads`, which have the same ones.
 *
 * @import { ContractCall } from '../contracts/load.d.ts'
 * @import { Command, Option, Row } from './options.js'
 */

export const CONTRACT = 'contract';

// prettier-ignore
/** Rows of the table of options. @param {readonly Command[]} commands @returns {readonly Row[]} */
export const contractRows = (commands) => [
  { name: 'contract-address', workload: CONTRACT, argument: 'ADDRESS', parse: parse.address, commands, excludes: ['deploy'],
    help: 'contract that --workload contract calls' },
  { name: 'deploy', workload: CONTRACT, argument: 'FILE', parse: parse.pathName, commands,
    file: 'read',
    help: 'contract to deploy in the set-up and to call: an artifact of Foundry or Hardhat, FILE.sol, FILE.sol:NAME, or the name of a contract of stress, such as Token' },
  { name: 'deploy-args', workload: CONTRACT, argument: 'LIST', isJson: true, parse: parse.argumentList, commands, needs: ['deploy'],
    defaultText: 'none',
    help: 'values of the constructor of --deploy, as in --args' },
  { name: 'abi', workload: CONTRACT, argument: 'FILE', parse: parse.pathName, commands,
    file: 'read', defaultText: 'that of --deploy',
    help: 'ABI, or an artifact with one: functions and events can then be given without types, and reasons of reverts are decoded' },
  { name: 'function', workload: CONTRACT, argument: 'SIGNATURE', parse: parse.anyText, commands, excludes: ['calldata'],
    help: "function that each operation calls, such as 'transfer(address,uint256)'" },
  { name: 'args', workload: CONTRACT, argument: 'LIST', isJson: true, parse: parse.argumentList, commands, needs: ['function'],
    defaultText: 'none',
    help: "its values, separated by commas, such as '{{wallet.next}},1', or a JSON array; templates: docs/workloads.md" },
  { name: 'calldata', workload: CONTRACT, argument: 'DATA|FILE', parse: parse.pathName, commands,
    file: 'read',
    help: 'calldata in place of --function: 0x and hexadecimal digits, or a file with one in each line' },
  { name: 'call-value', key: 'callValueWei', workload: CONTRACT, argument: 'AMOUNT', parse: parse.amount('ether'), commands,
    defaultText: '0',
    help: 'value that each call transfers, in ether; outside of local chains it needs --max-value' },
  { name: 'max-value', key: 'maxValueWei', argument: 'AMOUNT', parse: parse.amount('ether'), commands,
    defaultText: 'no limit on local chains',
    help: 'limit of what all --call-value together transfer, in ether; the load ends before it is exceeded' },
  { name: 'before', workload: CONTRACT, argument: 'SIGNATURE', parse: parse.anyText, commands,
    help: "function that each wallet calls once in the set-up, such as 'mint(uint256)'" },
  { name: 'before-args', workload: CONTRACT, argument: 'LIST', isJson: true, parse: parse.argumentList, commands, needs: ['before'],
    defaultText: 'none',
    help: 'its values, as in --args' },
  { name: 'check-event', workload: CONTRACT, argument: 'SIGNATURE', parse: parse.anyText, commands,
    help: "event that each operation must have emitted, such as 'Transfer(address,address,uint256)': the audit counts them" },
];

/** Figures have this name, and --mix. */
const NAME = /^[a-z]\w{0,39}$/i;

const EXAMPLE = '{"mint": {"contract-address": "0x...", "function": "mint(uint256)", "args": ["1"]}}';

/**
 * Parses the option `workloads`: calls of contracts by name, whose members are the options of --workload contract.
 * @param {string} text
 * @param {readonly Option[]} options of --workload contract
 * @returns {Promise<Readonly<Record<string, ContractCall>>>}
 * @throws {Error} with a message that goes behind the option's name
 */
export async function parseNamedCalls(text, options) {
  const json = objectOf(text);
  if (json === null) throw new Error(`must be an object of calls by name, such as ${EXAMPLE}`);
  const names = Object.keys(json);
  const calls = names.map(async (name) => {
    if (!NAME.test(name)) throw new Error(`has the name ${quote(name)}: give up to 40 letters, digits and underscores`);
    return [name, await callOf(name, json[name], { options, names })];
  });
  return Object.freeze(Object.fromEntries(await Promise.all(calls)));
}

/** @param {string} text @returns {Record<string, unknown> | null} */
function objectOf(text) {
  try {
    const json = JSON.parse(text);
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}

/** @param {unknown} value */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param {string} name @param {unknown} members @param {{options: readonly Option[], names: readonly string[]}} known @returns {Promise<ContractCall>} */
async function callOf(name, members, { options, names }) {
  if (!isObject(members)) throw new Error(`has ${name}, which must be an object such as that of mint in ${EXAMPLE}`);
  const given = /** @type {Record<string, unknown>} */ (members);
  const call = /** @type {Record<string, unknown>} */ ({ ...NO_CALL });
  for (const [member, value] of Object.entries(given)) {
    const option = options.find((one) => one.name === member);
    if (option === undefined) throw new Error(unknownMember(name, member, options));
    const { excludes = [], needs = [] } = option;
    const other = excludes.find((one) => one in given);
    if (other !== undefined) throw new Error(`has ${name} with ${member} and ${other}: leave one of them out`);
    const [lacking] = needs.filter((one) => !(one in given));
    if (lacking !== undefined) throw new Error(`has ${name} with ${member}, which needs ${lacking}`);
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    const isOfOther = member === 'contract-address' && text !== name && names.includes(text);
    try {
      call[option.key] = isOfOther ? text : await option.parse(text);
    } catch (error) {
      throw new Error(`has ${name} with ${member}, which ${/** @type {Error} */ (error).message}`, { cause: error });
    }
  }
  return Object.freeze(/** @type {ContractCall} */ (call));
}

/** @param {string} name @param {string} member @param {readonly Option[]} options */
function unknownMember(name, member, options) {
  const all = options.map((option) => option.name);
  const [best] = similarNames(member, all);
  const hint = best === undefined ? `its members are ${all.join(', ')}` : `did you mean ${best}?`;
  return `has ${oneLine(name, 40)} with an unknown member ${quote(member)}: ${hint}`;
}
