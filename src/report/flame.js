import { tableOf } from '../outputs/table.js';
import { profileText, readProfiles, shortName } from '../stats/node-profile.js';
import { count, percent, quantity } from '../text.js';
import { sentence } from './charts.js';
import { html } from './html.js';
import { dataTable, note, tableDetails } from './sections.js';

/**
 * Where the CPU time of a node went, on a page: a graph of its stacks that the script draws, and tables of groups and
 * functions.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { StacksDifference } from '../contracts/study.d.ts'
 * @import { ReadProfile } from '../stats/node-profile.js'
 * @import { Part } from './html.js'
 *
 * @typedef {object} Flame the stacks of a graph
 * @property {string} id of its element
 * @property {string[]} names of the functions
 * @property {number[][]} frames index of the caller (-1: none), index of the name, CPU time of the function itself; of a
 *   difference the mean of both sides, and how much more the candidate has
 * @property {number} otherUs CPU time of stacks that are not drawn
 * @property {boolean} [isDifference]
 */

const KEYS =
  'Arrow keys move from function to function, Enter zooms in, Escape shows all. The width of a function is its CPU time with those that it called, which are below it.';

/** @param {RunFile} run @returns {Flame[]} */
export function flamesOf(run) {
  return readProfiles(run).map(({ stacks: { names, frames, otherUs } }, i) => ({
    id: `flame-${i}`,
    names: names.map(shortName),
    frames,
    otherUs,
  }));
}

/** The stacks of both sides of a comparison. @param {StacksDifference} stacks @returns {Flame} */
export function differenceFlame({ names, frames, otherBaseUs, otherCandidateUs }) {
  return {
    ...{ id: 'flame-difference', names: names.map(shortName), isDifference: true },
    frames: frames.map(([caller, name, base, candidate]) => [caller, name, (base + candidate) / 2, candidate - base]),
    otherUs: (otherBaseUs + otherCandidateUs) / 2,
  };
}

/** @param {RunFile} run @returns {Part[]} */
export function profileParts(run) {
  const profiles = readProfiles(run);
  return profiles.flatMap((profile, i) => [
    flameFigure(
      `flame-${i}`,
      profiles.length > 1 ? `Node ${profile.name}` : 'CPU time of the node',
      profileText(profile, run),
    ),
    dataTable(groupsTable(profile)),
    tableDetails(functionsTable(profile, i)),
    tableDetails(packagesTable(profile, i)),
    ...Object.entries(profile.missing).map(([why, times]) => note(`Missing: ${count(times)}, ${why}.`)),
  ]);
}

/** @param {string} id @param {string} title @param {string} summary */
export function flameFigure(id, title, summary) {
  return html`<figure id="figure-${id}" class="chart wide flame-box" aria-labelledby="title-${id}">
    <figcaption>
      <h3 id="title-${id}">${title}</h3>
      <p>${sentence(summary)}</p>
    </figcaption>
    <p class="needs-script">${KEYS}</p>
    <p class="needs-script">
      <label>Search <input type="search" id="search-${id}" autocomplete="off" /></label>
      <span id="status-${id}" role="status"></span>
    </p>
    <div class="flame" id="${id}" role="group" tabindex="0" aria-label="${title}: graph of stacks. ${KEYS}"></div>
  </figure>`;
}

/** @param {ReadProfile} profile */
function groupsTable({ stacks: { groups, cpuUs } }) {
  const rows = groups.map(({ name, selfUs, functions }) => [
    name,
    percent(selfUs / cpuUs),
    quantity(selfUs / 1000, 'ms'),
    functions.map(shortName).join(', '),
  ]);
  return tableOf('profile-groups', 'CPU time by purpose', ['', 'share', 'CPU time', 'most of it in'], rows);
}

/** @param {ReadProfile} profile @param {number} i */
function packagesTable({ stacks: { packages = [], cpuUs } }, i) {
  const rows = packages.map(({ name, selfUs }) => [name, percent(selfUs / cpuUs), quantity(selfUs / 1000, 'ms')]);
  return tableOf(`profile-packages-${i}`, 'CPU time by package or crate', ['', 'share', 'CPU time'], rows);
}

/** @param {ReadProfile} profile @param {number} i */
function functionsTable({ stacks: { functions, cpuUs } }, i) {
  const rows = functions.map(({ name, selfUs, totalUs }) => [
    shortName(name),
    percent(selfUs / cpuUs),
    percent(totalUs / cpuUs),
    quantity(selfUs / 1000, 'ms'),
  ]);
  return tableOf(
    `profile-functions-${i}`,
    'Functions with most CPU time',
    ['', 'itself', 'with what it called', 'CPU time itself'],
    rows,
  );
}
