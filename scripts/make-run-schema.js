/**
 * Writes the counts of docs/run.schema.json from the table of src/stats/metrics.js: npm run run:schema. With --check it
 * only says whether the file is up to date.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { COUNTS } from '../src/stats/metrics.js';
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

const text = await format(JSON.stringify(schema, null, 2), { ...(await resolveConfig(FILE)), filepath: FILE });
writeOrCheck('docs/run.schema.json', text, 'npm run run:schema');
