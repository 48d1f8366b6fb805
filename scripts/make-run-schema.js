/**
 * The run file has one source, docs/run.schema.json: npm run run:schema writes its counts and stages, from the tables of
 * src/stats/figures.js, and the types of all its parts, src/contracts/run-schema.d.ts. A part with a title is a type of
 * that name. With --check it only says whether the files are up to date.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { COUNTS, STAGES } from '../src/stats/figures.js';
import { writeOrCheck } from './generated.js';

/**
 * What the schema uses of JSON Schema, and a type can say.
 *
 * @typedef {object} Schema
 * @property {string} [title]
 * @property {string} [description]
 * @property {string} [$ref]
 * @property {string | string[]} [type]
 * @property {unknown} [const]
 * @property {unknown[]} [enum]
 * @property {Schema[]} [oneOf]
 * @property {Schema[]} [anyOf]
 * @property {Schema} [items]
 * @property {Record<string, Schema>} [properties]
 * @property {string[]} [required]
 * @property {Schema | boolean} [additionalProperties]
 * @property {Schema} [propertyNames]
 */

const FILE = fileURLToPath(new URL('../docs/run.schema.json', import.meta.url));
const TYPES = 'src/contracts/run-schema.d.ts';

/** A shorter object has one line, without the descriptions of its members. */
const ONE_LINE = 90;
const schema = JSON.parse(readFileSync(FILE, 'utf8'));

const rows = Object.entries(COUNTS);
/** @param {(typeof COUNTS)[string]} row */
const descriptionOf = ({ outcome, help = '' }) =>
  outcome === undefined ? `${help}.` : `Operations that ended as ${outcome}.`;

Object.assign(schema.$defs.counts, {
  // Files of other versions may lack a count that was added later, or have one more.
  required: rows.filter(([, { label }]) => label === undefined).map(([name]) => name),
  properties: Object.fromEntries(
    rows.map(([name, row]) => [name, { $ref: '#/$defs/count', description: descriptionOf(row) }]),
  ),
});

// Files of other versions may lack a stage that was added later: none is added to those that are required.
const [ofRun, ofInterval] = [schema.properties.latency, schema.$defs.interval].map((part) => part.properties.stages);
/** @param {string} text */
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
for (const { name, definition } of STAGES) {
  ofRun.properties[name] = { $ref: '#/$defs/distribution', description: sentence(definition) };
  ofInterval.properties[name] = { $ref: '#/$defs/durationSum' };
}

/** Declarations by name. @type {Map<string, string>} */
const declared = new Map();

/** @param {string} name @param {Schema} part @returns {string} the name */
function declare(name, part) {
  if (declared.has(name)) return name;
  declared.set(name, ''); // its place: the whole comes before its parts
  declared.set(name, `${comment(part)}export type ${name} = ${bodyOf(part, 'null')};\n`);
  return name;
}

/** The type of a part, by its name if it has one. @param {Schema} part @returns {string} */
function typeOf(part) {
  if (part.$ref !== undefined) return typeOf(at(part.$ref));
  if (part.title === undefined) return bodyOf(part);
  const isNullable = part.type?.includes('null') || part.enum?.includes(null);
  return `${declare(part.title, part)}${isNullable ? ' | null' : ''}`;
}

/** @param {string} ref @returns {Schema} */
function at(ref) {
  return ref
    .split('/')
    .slice(1)
    .reduce((part, name) => part[name], schema);
}

/** @param {Schema} part @param {string} [without] a type that is left out @returns {string} */
function bodyOf(part, without) {
  const all = [part.type ?? 'object'].flat();
  const types = part.properties || part.additionalProperties ? all : (part.type ?? 'unknown');
  const found =
    (part.const !== undefined ? [part.const] : part.enum)?.map((value) => JSON.stringify(value)) ??
    (part.properties ? undefined : (part.oneOf ?? part.anyOf)?.map(typeOf)) ??
    [types].flat().map((type) => plainType(type, part));
  const isNullable = found.includes('null') && without !== 'null';
  return [...new Set(found.filter((type) => type !== 'null')), ...(isNullable ? ['null'] : [])].join(' | ');
}

/** @param {string} type @param {Schema} part */
function plainType(type, part) {
  if (type === 'integer') return 'number';
  if (type === 'array') return part.items === undefined ? 'unknown[]' : `Array<${typeOf(part.items)}>`;
  return type === 'object' ? objectType(part) : type;
}

/** @param {Schema} part */
function objectType({ properties, required = [], additionalProperties = true, propertyNames }) {
  const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  const isNamed = propertyNames?.enum !== undefined;
  if (properties === undefined) {
    return isNamed ? `Partial<Record<${typeOf(propertyNames)}, ${values}>>` : `Record<string, ${values}>`;
  }
  const members = Object.entries(properties).map(([name, part]) => ({
    text: `${name}${required.includes(name) ? '' : '?'}: ${typeOf(part)};\n`,
    words: comment(part),
  }));
  if (additionalProperties === true) members.push({ text: '[name: string]: unknown;\n', words: '' });
  const inOneLine = members.map(({ text }) => text).join('');
  // Prettier keeps an object in one line only if it begins so.
  if (inOneLine.length < ONE_LINE) return `{ ${inOneLine}}`;
  return `{\n${members.map(({ text, words }) => words + text).join('')}}`;
}

/** @param {Schema} part */
function comment({ description }) {
  return description === undefined ? '' : `/** ${description} */\n`;
}

declare('RunFile', { ...schema, if: undefined });
const options = await resolveConfig(FILE);
const head = '/** Generated from docs/run.schema.json by npm run run:schema. Do not edit. */\n\n';
const types = await format(head + [...declared.values()].join('\n'), { ...options, parser: 'typescript' });
const text = await format(JSON.stringify(schema, null, 2), { ...options, filepath: FILE });
writeOrCheck('docs/run.schema.json', text, 'npm run run:schema');
writeOrCheck(TYPES, types, 'npm run run:schema');
