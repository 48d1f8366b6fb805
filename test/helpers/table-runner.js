/**
 * The process behind runTable(): `node table-runner.js FILE` calls the program's main() for one row after the other.
 */
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { main } from '../../src/cli/main.js';

/** @import { TableRow } from './table.js' */

const [file] = process.argv.slice(2);
/** @type {{separator: string, rows: Array<Required<TableRow>>}} */
const { separator, rows } = JSON.parse(readFileSync(file, 'utf8'));
const results = [];
for (const { args, env, cwd } of rows) {
  process.chdir(cwd);
  Object.assign(process.env, env);
  const startedMs = performance.now();
  const code = await main(args, process.env);
  results.push({ code, tookMs: Math.round(performance.now() - startedMs) });
  for (const name of Object.keys(env)) delete process.env[name];
  for (const fd of [1, 2]) writeSync(fd, separator);
}
// Nothing may keep the process alive: it ends by itself after the last row, or its test times out.
writeFileSync(`${file}.results`, JSON.stringify(results));
