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
    ...Object.fromEntries(OPTIONS.map((option) => [option.name, schemaOf(option)])),
  },
};

/** @param {Option} option */
function schemaOf(option) {
  const { help, commands, fallback, isFlag } = option;
  const names = commands.map((name) => (name === 'run' ? 'stress' : `stress ${name}`));
  const usual = fallback === undefined ? {} : { default: isFlag ? false : fallback };
  return { description: `${help} (${names.join(', ')})`, ...valueOf(option), ...usual };
}

/** Each value may also be given as the text of the command line. @param {Option} option */
function valueOf({ isFlag, isList, isRest, isAxis, choices, file, integer }) {
  if (isFlag) return { enum: [true, false, 'true', 'false', ...(isAxis ? ['true,false', 'false,true'] : [])] };
  if (isList || isRest) return { type: ['string', 'array'], items: { type: 'string' } };
  // A sweep takes several values: lists and ranges.
  const digits = isAxis ? '^[\\d.,/ ]+$' : '^\\d+$';
  if (integer !== undefined) {
    const [minimum, maximum] = integer;
    return { type: ['integer', 'string'], minimum, maximum, pattern: digits };
  }
  if (choices === undefined) return { type: ['string', 'number'] };
  if (file !== undefined) return { anyOf: [{ enum: choices }, { type: 'string' }] };
  return isAxis ? { anyOf: [{ enum: choices }, { type: 'string', pattern: ',' }] } : { enum: choices };
}

const text = await format(JSON.stringify(schema), { parser: 'json', printWidth: 120 });
if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (readFileSync(FILE, 'utf8') !== text) {
  process.stderr.write('docs/config.schema.json is not that of src/cli/options.js: npm run config:schema\n');
  process.exitCode = 1;
}
