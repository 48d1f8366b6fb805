import { CALL_PRESETS } from '../workload/call-presets.js';
import { workloads } from '../workload/index.js';
import { payloadSize } from '../workload/payload.js';
import { LOAD, NEEDED, SWEPT, PREPARE } from './command-names.js';
import { nameOrFile, pathName } from './file-names.js';
import { endpoint, jsonArray, methodName, oneOf, setting, wholeNumber } from './values.js';

/** @import { Option } from './options.js' */

/** What one operation is, and what is prepared for it. See src/cli/options.js. */

// prettier-ignore
/** @type {readonly Option[]} */
export const WORKLOAD_OPTIONS = Object.freeze([
  { name: 'workload', key: 'workload', argument: 'NAME|FILE', parse: nameOrFile(Object.keys(workloads)), fallback: 'counter', commands: NEEDED,
    describe: `what one operation is: ${Object.keys(workloads).join(', ')}, or a file of your own, see stress new-workload` },
  { name: 'set', key: 'set', isList: true, argument: 'NAME=VALUE', parse: setting, commands: NEEDED,
    describe: 'a setting of a workload of your own, such as slots=20; may be repeated' },
  { name: 'method', key: 'method', workload: 'rpc', argument: 'NAME', parse: methodName, commands: LOAD,
    describe: 'JSON-RPC method that --workload rpc calls' },
  { name: 'params', key: 'params', workload: 'rpc', argument: 'JSON', parse: jsonArray, commands: LOAD,
    defaultText: '[]',
    describe: 'its parameters, a JSON array' },
  { name: 'calls', key: 'calls', workload: 'rpc', argument: 'FILE', parse: pathName, commands: LOAD,
    describe: `several calls in place of one: a file of them, or ${Object.keys(CALL_PRESETS).join(', ')}; see docs/calls.md` },
  { name: 'data', key: 'data', workload: 'rpc', argument: 'FILE', parse: pathName, commands: LOAD,
    describe: 'the logs that --calls pages lists: a file of stress prepare logs' },
  { name: 'check-rpc', key: 'checkRpc', workload: 'rpc', argument: 'URL', parse: endpoint, commands: LOAD,
    describe: 'a second endpoint of the same chain, which must answer as the first one where a call says so' },
  { name: 'users', key: 'users', workload: 'rpc', argument: 'N', parse: wholeNumber(1, 100_000), commands: LOAD,
    describe: 'another word for -t where nothing is signed' },
  { name: 'fixed-id', key: 'fixedId', workload: 'rpc', argument: 'N', parse: wholeNumber(0, Number.MAX_SAFE_INTEGER), commands: LOAD,
    defaultText: 'a new id for each request',
    describe: 'the id of every request of --workload rpc, for servers that answer a constant; it is still checked' },
  { name: 'receivers', key: 'receivers', workload: 'transfer', isAxis: true, argument: 'N', parse: wholeNumber(1, 10_000_000), commands: NEEDED,
    defaultText: 'the wallets pay each other',
    describe: 'how many addresses --workload transfer pays, made for the run' },
  { name: 'create-receivers', key: 'createReceivers', workload: 'transfer', argument: 'WHEN', parse: oneOf(['before', 'during']), commands: NEEDED,
    defaultText: 'during',
    describe: 'when they come to be on the chain: before the load, by a wei for each, or during it, by their first payment' },
  { name: 'payload', key: 'payload', workload: ['counter', 'transfer'], isAxis: true, argument: 'BYTES', parse: payloadSize, commands: NEEDED,
    defaultText: 'no more than it takes',
    describe: 'calldata of each transaction: so many bytes, other ones in each' },
  { name: 'contracts', key: 'contracts', workload: 'counter', argument: 'FILE', parse: pathName, commands: SWEPT,
    describe: 'keep the addresses of the contracts there, and use them again if they are still on the chain' },
  { name: 'count', key: 'logCount', argument: 'N', parse: wholeNumber(1, 10_000_000), commands: PREPARE,
    describe: 'how many logs to prepare' },
  { name: 'bytes', key: 'logBytes', argument: 'N', parse: wholeNumber(1, 262_144), fallback: '10240', commands: PREPARE,
    describe: 'bytes of data in each log' },
  { name: 'page-size', key: 'pageSize', argument: 'N', parse: wholeNumber(1, 100_000), fallback: '100', commands: PREPARE,
    describe: 'logs of a page' },
]);
