/** The process of a StressRunner: it calls the program's main() for each line of standard input. */
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

/**
 * @typedef {object} CommandLine
 * @property {string[]} args
 * @property {Record<string, string | null>} env added to the environment; null removes a name
 * @property {string} cwd
 * @property {string} script bin/stress.js of the checkout, or of a copy of it
 */

const [separator] = process.argv.slice(2);

/** @param {Record<string, string | null>} env */
function change(env) {
  for (const [name, value] of Object.entries(env)) {
    if (value === null) delete process.env[name];
    else process.env[name] = value;
  }
}

// A signal that arrives when a run is over must not end the process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
// Each copy of the program listens for errors of its own.
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);

for await (const line of createInterface({ input: process.stdin })) {
  /** @type {CommandLine} */
  const { args, env, cwd, script } = JSON.parse(line);
  process.chdir(cwd);
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name] ?? null]));
  change(env);
  const { main } = await import(new URL('../src/cli/main.js', pathToFileURL(script)).href);
  const exitCode = await main(args, process.env);
  change(before);
  for (const stream of [process.stdout, process.stderr]) stream.write(`${separator}${exitCode}\n`);
}
