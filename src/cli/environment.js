import { UsageError } from '../errors.js';
import { typos } from '../similar-names.js';
import { VARIABLES, optionNamed } from './options.js';

/** Variables of the environment that begin with STRESS_. */

const PREFIX = 'STRESS_';

/** Kubernetes makes these for a Service named stress, or stress-NAME. */
const OF_A_SERVICE =
  /^STRESS_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;

/** Variables of the tests and scripts of this project. */
const OF_THE_PROJECT = new Set(
  ['CACHE', 'CELL', 'FUZZ_RUNS', 'FUZZ_SEED', 'LAB', 'SCREENSHOTS', 'VERSION'].map((name) => PREFIX + name),
);

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {{env: NodeJS.ProcessEnv, unknown: string[]}} with synonyms under their own names; unknown: names that mean nothing
 * @throws {UsageError} a name is probably misspelt
 */
export function checkVariables(env) {
  const own = { ...env };
  const unknown = [];
  for (const name of Object.keys(env).filter((one) => one.startsWith(PREFIX))) {
    if (OF_A_SERVICE.test(name) && /^(tcp|udp|sctp):\/\//.test(env[name] ?? '')) {
      delete own[name];
      continue;
    }
    if (VARIABLES.includes(name) || OF_THE_PROJECT.has(name) || OF_A_SERVICE.test(name)) continue;
    const { variable } = optionNamed(optionName(name)) ?? {};
    const best = similar(name);
    if (variable !== undefined) {
      own[variable] ||= env[name];
      delete own[name];
    } else if (best !== undefined)
      throw new UsageError(`unknown variable ${name} in the environment: did you mean ${best}?`);
    else unknown.push(name);
  }
  return { env: own, unknown };
}

/** @param {string} variable */
function optionName(variable) {
  return variable.slice(PREFIX.length).toLowerCase().replaceAll('_', '-');
}

/** The nearest known name, one letter of five apart. @param {string} name @returns {string | undefined} */
function similar(name) {
  return VARIABLES.map((known) => ({ known, distance: typos(name, known) }))
    .filter(({ known, distance }) => distance <= (Math.max(name.length, known.length) - PREFIX.length) / 5)
    .sort((a, b) => a.distance - b.distance)[0]?.known;
}
