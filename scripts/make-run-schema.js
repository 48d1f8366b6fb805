/**
 * Writes the counts and the stages of docs/run.schema.json from the tables of src/stats/figures.js: npm run run:schema. With --check it
 * only says whether the file is up to date.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { COUNTS, STAGES } from '../src/stats/figures.js';
import { writeOrCheck } from './generated.js';

const FILE = fileURLToPath(new URL('../docs/run.schema.json', import.meta.url));
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

const text = await format(JSON.stringify(schema, null, 2), { ...(await resolveConfig(FILE)), filepath: FILE });
writeOrCheck('docs/run.schema.json', text, 'npm run run:schema');
