/**
 * Writes docs/config.schema.json, the JSON Schema of --config files, from the table of options: npm run config:schema.
 * With --check it only says whether the file is up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';
import { OPTIONS } from '../src/cli/options.js';

/** @import { Option } from '../src/cli/options.js' */

const FILE = new URL('../docs/config.schema.json', import.meta.url);

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'evm-stress/config@1',
  title: 'Options of stress, for --config FILE',
  description: 'Options by their names on the command line. Flags and the environment win over the file.',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string', description: 'where this schema is, for editors' },
    ...Object.fromEntries(await Promise.all(OPTIONS.map(async (option) => [option.name, await schemaOf(option)]))),
  },
};

/** @param {Option} option */
async function schemaOf(option) {
  const { help, commands, fallback, isFlag } = option;
  const names = commands.map((name) => (name === 'run' ? 'stress' : `stress ${name}`));
  const value = option.integer === undefined || Number.isNaN(Number(fallback)) ? fallback : Number(fallback);
  const usual = fallback === undefined ? {} : { default: isFlag ? false : value };
  return { description: `${help} (${names.join(', ')})`, ...(await valueOf(option)), ...usual };
}

/** @param {Option['parse']} parse @param {string} text */
async function takes(parse, text) {
  try {
    await parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Each value may also be given as the text of the command line. @param {Option} option */
async function valueOf({ isFlag, isList, isRest, isAxis, choices, file, integer, parse }) {
  if (isFlag) return { enum: [true, false, 'true', 'false', ...(isAxis ? ['true,false', 'false,true'] : [])] };
  if (isList || isRest) return { type: ['string', 'array'], items: { type: 'string' } };
  // A sweep takes several values: lists and ranges.
  const digits = isAxis ? '^[\\d.,/ ]+$' : '^\\d+$';
  if (integer !== undefined) {
    const [minimum, maximum] = integer;
    return { type: ['integer', 'string'], minimum, maximum, pattern: digits };
  }
  if (choices === undefined) return { type: (await takes(parse, '5')) ? ['string', 'number'] : 'string' };
  if (file !== undefined) return { anyOf: [{ enum: choices }, { type: 'string' }] };
  return isAxis ? { anyOf: [{ enum: choices }, { type: 'string', pattern: ',' }] } : { enum: choices };
}

const text = await format(JSON.stringify(schema), { parser: 'json', printWidth: 120 });
if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (readFileSync(FILE, 'utf8') !== text) {
  process.stderr.write('docs/config.schema.json is not that of src/cli/options.js: npm run config:schema\n');
  process.exitCode = 1;
}
