import { counted, percent, quantity, timeText } from '../text.js';
import { knownOf, namedEntries } from './merge.js';
import { isUnknown, unknown } from './unknown.js';

/**
 * What the profiles of a run say of its nodes (--node-profile).
 *
 * @import { FigureBounds, NodeProfile, ProfiledStacks, RunFile, Unknown } from '../contracts/run-file.d.ts'
 * @import { ScalarRow } from './figures.js'
 *
 * @typedef {NodeProfile & {stacks: ProfiledStacks}} ReadProfile
 */

/** Instances that profile the same node have one profile of it: the one that covers most time. */
export const NODE_PROFILE = namedEntries(
  'name',
  knownOf((/** @type {NodeProfile} */ a, /** @type {NodeProfile} */ b) => (b.profiledMs > a.profiledMs ? b : a)),
);

/** Below it a node had time: share of one CPU. */
const BUSY_CPUS = 0.5;
/** Groups with less are not named. */
const NAMED_SHARE = 0.05;
const MOST_NAMED = 4;

/** @param {Pick<RunFile, 'nodeProfile'>} run @returns {ReadProfile[]} those with at least one piece */
export function readProfiles({ nodeProfile }) {
  return /** @type {ReadProfile[]} */ ((nodeProfile ?? []).filter(({ stacks }) => stacks !== null));
}

/** CPUs that the node used, on average. @param {ReadProfile} profile */
function cpusOf({ profiledMs, stacks: { cpuUs } }) {
  return profiledMs > 0 ? cpuUs / 1000 / profiledMs : 0;
}

/** CPU time of a node for a verified operation. @param {ReadProfile} profile @param {Pick<RunFile, 'rates'>} run @returns {number | null} */
export function perOperationUs(profile, { rates: { verifiedPerSecond } }) {
  return profile.profiledMs > 0 && verifiedPerSecond ? (1e6 * cpusOf(profile)) / verifiedPerSecond : null;
}

/** Such as "state trie 62 %, garbage collection 11 %". @param {ReadProfile} profile @param {(name: string, functions: string[]) => string} [nameOf] */
function sharesText({ stacks: { cpuUs, groups } }, nameOf = (name) => name) {
  const named = groups.filter(({ selfUs }) => selfUs >= NAMED_SHARE * cpuUs).slice(0, MOST_NAMED);
  return named.map(({ name, selfUs, functions }) => `${nameOf(name, functions)} ${percent(selfUs / cpuUs)}`).join(', ');
}

/** How many goroutines waited for a lock, if that was recorded, and which function held it most. @param {ReadProfile} profile @returns {string | null} */
function locksText({ locks, profiledMs }) {
  if (!locks || profiledMs === 0) return null;
  const [most] = locks.functions;
  const holder = most === undefined ? '' : `, most for ${shortName(most.name)}`;
  return `${quantity(locks.waitUs / 1000 / profiledMs)} goroutines on average${holder}`;
}

/** One line of the summary. @param {ReadProfile} profile @param {RunFile} run */
export function profileText(profile, run) {
  const { pieces, profiledMs, stacks } = profile;
  const us = perOperationUs(profile, run);
  const each = us === null ? '' : `; ${quantity(us / 1000, 'ms')} of CPU for a verified operation`;
  const used = `${quantity(cpusOf(profile))} CPUs over ${timeText(profiledMs / 1000)} (${counted(pieces, 'profile')})`;
  const locks = locksText(profile);
  const waited = locks === null ? '' : `; waited for locks: ${locks}`;
  return stacks.cpuUs === 0 ? `${used}: no sample${waited}` : `${sharesText(profile)}; ${used}${each}${waited}`;
}

/** For a verdict: where the CPU time of the nodes went, or that they had time. @param {RunFile} run */
export function profileEvidence(run) {
  const profiles = readProfiles(run);
  return profiles.map((profile) => {
    const name = profiles.length > 1 ? `node ${profile.name}` : 'node';
    const locks = locksText(profile);
    if (cpusOf(profile) < BUSY_CPUS)
      return `; the ${name} used ${quantity(cpusOf(profile))} CPUs: it waited for locks${locks === null ? '' : ` (${locks})`}, its disk, its block period, or a CPU`;
    const withFunction = (/** @type {string} */ group, /** @type {string[]} */ [first]) =>
      first === undefined ? group : `${group} (${shortName(first)})`;
    return `; the CPU time of the ${name} went to ${sharesText(profile, withFunction)}`;
  });
}

/** Without the folders of a package of Go. @param {string} name */
export function shortName(name) {
  return name.replace(/^[\w.~-]+(\/[\w.~-]+)*\//, '');
}

/** What the functions of a node are for, in the order of the figures. The patterns of their names are those of the observer. */
export const GROUPS = Object.freeze(
  /** @type {const} */ ([
    'signature recovery',
    'state trie',
    'EVM execution',
    'database',
    'transaction pool',
    'RPC',
    'block building',
    'network and consensus',
    'garbage collection',
    'memory allocation',
    'scheduling',
    'other',
  ]),
);

/** CPU time of the nodes, or of a group of their functions, for a verified operation. @param {RunFile} run @param {string} [group] @returns {FigureBounds | Unknown} */
function cpuPerOperation(run, group) {
  const { unmeasured, nodeProfile } = run;
  if (!nodeProfile?.length) return unknown(unmeasured['/nodeProfile'] ?? '--node-profile was not given');
  // The CPU time of the others alone would be too low.
  const missing = nodeProfile.findIndex(({ stacks }) => stacks === null);
  if (missing !== -1) return unknown(unmeasured[`/nodeProfile/${missing}/stacks`] ?? 'a profile is missing');
  const profiles = readProfiles(run);
  let value = 0;
  for (const profile of profiles) {
    const us = perOperationUs(profile, run);
    if (us === null) return unknown('no operation was verified in the window');
    value += us * (group === undefined ? 1 : shareOf(profile, group));
  }
  return { value, atMost: value, censored: 0 };
}

/** @param {ReadProfile} profile @param {string} group */
function shareOf({ stacks: { cpuUs, groups } }, group) {
  return (groups.find(({ name }) => name === group)?.selfUs ?? 0) / Math.max(1, cpuUs);
}

export const NODE_CPU = 'node.cpu_per_op';
const PROFILED = Object.freeze({
  unit: /** @type {const} */ ('us'),
  option: 'node-profile',
  needs: 'profiles of the node: --node-profile URL',
});

/** @type {ReadonlyArray<ScalarRow & {option: string, needs: string}>} */
export const PROFILE_FIGURES = Object.freeze([
  {
    ...PROFILED,
    name: NODE_CPU,
    label: 'node CPU per operation',
    words: 'CPU time of the profiled nodes for a verified operation (--node-profile)',
    bounds: cpuPerOperation,
  },
  ...GROUPS.map((group) => ({
    ...PROFILED,
    name: `${NODE_CPU}.${group.toLowerCase().replaceAll(' ', '_')}`,
    label: `node CPU: ${group}`,
    words: `the part of it for ${group}`,
    bounds: (/** @type {RunFile} */ run) => cpuPerOperation(run, group),
  })),
]);

/** Figures of node profiles that a comparison tests, too. @param {readonly RunFile[]} runs @returns {string[]} those that are above 0 in all of them */
export function comparedProfileFigures(runs) {
  const isAbove0 = (/** @type {RunFile} */ run, /** @type {ScalarRow['bounds']} */ bounds) => {
    const figure = bounds?.(run);
    return figure !== undefined && !isUnknown(figure) && figure.value > 0;
  };
  return PROFILE_FIGURES.filter(({ bounds }) => runs.every((run) => isAbove0(run, bounds))).map(({ name }) => name);
}
