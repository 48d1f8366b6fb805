import { readFileSync } from 'node:fs';
import { compile } from './templates.js';
import { InputError, displayName } from '../errors.js';
import { readJsonFile, schemaCheck } from '../json-file.js';
import { quote } from '../text.js';
import { compileCheck } from './call-checks.js';

/**
 * The calls of `--calls`, from a file or a preset: which calls there are, how often each is made, and what their answers
 * must be.
 *
 * @import { Check, CheckRule } from './call-checks.js'
 * @import { Compiled, Need } from './templates.js'
 *
 * @typedef {object} CallRule an entry of a calls file
 * @property {string} [name] its figures are shown under this name; by default the method
 * @property {string} method
 * @property {readonly unknown[]} [params] with templates
 * @property {number} [weight] its frequency relative to the others; 1 unless given
 * @property {'same' | CheckRule} [check] same: the answer of the second endpoint is the same
 *
 * @typedef {object} CallKind a parsed entry
 * @property {string} name
 * @property {string} method
 * @property {Compiled} params
 * @property {number} weight
 * @property {Check | 'same' | null} check
 * @property {string} where its position, for messages
 *
 * @typedef {object} CallSource
 * @property {readonly CallRule[]} rules
 * @property {boolean} isPreset
 * @property {string} name for messages
 *
 * @typedef {object} CallPlan
 * @property {CallSource} source
 * @property {readonly CallKind[]} kinds
 * @property {ReadonlySet<Need>} needs of all of them
 * @property {boolean} isPaged whether every call lists a page, so that an iteration is all pages
 */

/**
 * Calls files of the package: light measures the connection by cheap calls; wallet makes the calls of a wallet application
 * while it shows an account and before it sends; indexer reads whole blocks, their receipts, and logs of ranges; pages lists
 * the logs of a data set (--data). Their checks against a second endpoint are made only with --check-rpc.
 */
export const CALL_PRESETS = Object.freeze(['light', 'wallet', 'indexer', 'pages']);

const SCHEMA = 'evm-stress/calls@1';
/** Each call has figures of its own, whose number is limited. */
const MAX_CALLS = 60;
const ADVICE = `it must be {"schema": "${SCHEMA}", "calls": [{"method": "eth_blockNumber"}]} at least; see docs/workloads.md`;

/** The form of a path in an answer. */
const PATH = '^(\\$|(\\$\\.)?[\\w-]+(\\.[\\w-]+)*)$';

const CHECK = {
  type: ['object', 'string'],
  if: { type: 'string' },
  then: { const: 'same' },
  required: ['path'],
  additionalProperties: false,
  properties: {
    path: { type: 'string', pattern: PATH },
    equals: {},
    exists: { type: 'boolean' },
    length: { type: ['integer', 'string'], minimum: 0 },
  },
};

const RULES = {
  type: 'object',
  required: ['schema', 'calls'],
  additionalProperties: false,
  properties: {
    schema: { const: SCHEMA },
    calls: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_CALLS,
      items: {
        type: 'object',
        required: ['method'],
        additionalProperties: false,
        properties: {
          name: { type: 'string', pattern: '^[\\w.-]{1,60}$' },
          method: { type: 'string', pattern: '^[\\w.-]{1,60}$' },
          params: { type: 'array' },
          weight: { type: 'number', exclusiveMinimum: 0, maximum: 1_000_000 },
          check: CHECK,
        },
      },
    },
  },
};

/**
 * @param {string} nameOrFile a preset's name, or a file; ./NAME is a file even if there is such a preset
 * @returns {Promise<CallPlan>}
 * @throws {InputError} naming the file, the entry, and the error
 */
export async function readCalls(nameOrFile) {
  if (CALL_PRESETS.includes(nameOrFile)) {
    const { calls } = JSON.parse(readFileSync(new URL(`presets/${nameOrFile}.json`, import.meta.url), 'utf8'));
    return planOf({ rules: calls, isPreset: true, name: `the preset ${nameOrFile}` });
  }
  const name = displayName(nameOrFile);
  const advice = `${ADVICE}; presets: ${CALL_PRESETS.join(', ')}`;
  const json = readJsonFile(nameOrFile, { what: 'calls file', advice });
  const error = (await schemaCheck(RULES))(json);
  if (error !== null) {
    const { instancePath, message, params } = error;
    const unknown = params.additionalProperty ?? null;
    const which = unknown === null ? '' : ` (${quote(unknown)})`;
    throw new InputError(`${name}: ${instancePath || 'the file'} ${message}${which}; ${ADVICE}`);
  }
  return planOf({ rules: /** @type {{calls: CallRule[]}} */ (json).calls, isPreset: false, name });
}

/** @param {CallSource} source @returns {CallPlan} */
export function planOf(source) {
  const { rules } = source;
  /** @type {Set<Need>} */
  const needs = new Set();
  const kinds = rules.map(({ name, method, params = [], weight = 1, check }, i) => {
    const where = `${source.name}, call ${i + 1}${name === undefined ? '' : ` (${name})`}`;
    try {
      const compiled = compile(params);
      const held = check === undefined || check === 'same' ? (check ?? null) : compileCheck(check);
      for (const need of compiled.needs) needs.add(need);
      if (held !== null && held !== 'same') for (const need of held.expected.needs) needs.add(need);
      return { name: name ?? method, method, params: compiled, weight, check: held, where };
    } catch (error) {
      throw new InputError(`${where}: ${/** @type {Error} */ (error).message}`);
    }
  });
  return { source, kinds, needs, isPaged: kinds.every(({ params }) => params.needs.has('page')) };
}
