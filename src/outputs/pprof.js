import { gzipSync } from 'node:zlib';
import { Function as ProfiledFunction, Line, Location, Profile, Sample, StringTable, ValueType } from 'pprof-format';
import { readProfiles } from '../stats/node-profile.js';
import { writeFileAtomically } from '../files.js';

/**
 * Profiles of a run file for `go tool pprof`.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { ReadProfile } from '../stats/node-profile.js'
 */

/** Stacks that the run file adds up. */
const OTHERS = 'other stacks';

/** Beside a run file; several have their names in them. @param {string} out the run file @param {RunFile} run */
export async function writeProfiles(out, run) {
  const profiles = readProfiles(run);
  const stem = out.replace(/\.json$/, '');
  for (const profile of profiles) {
    const name = profiles.length === 1 ? '' : `.${profile.name}`;
    await writeFileAtomically(`${stem}${name}.pprof`, gzipSync(encoded(profile, Date.parse(run.startedAt))));
  }
}

/** @param {ReadProfile} profile @param {number} startedAtMs since 1970 @returns {Uint8Array} */
export function encoded({ profiledMs, stacks: { names, frames, otherUs } }, startedAtMs) {
  const stringTable = new StringTable();
  const id = (/** @type {number} */ index) => index + 1;
  const all = [...names, OTHERS];
  const cpu = new ValueType({ type: stringTable.dedup('cpu'), unit: stringTable.dedup('nanoseconds') });
  const stackOf = (/** @type {number} */ frame) => {
    const locationId = [];
    for (let at = frame; at !== -1; [at] = frames[at]) locationId.push(id(frames[at][1]));
    return locationId;
  };
  const sample = frames.flatMap(([, , selfUs], frame) =>
    selfUs === 0 ? [] : [new Sample({ locationId: stackOf(frame), value: [selfUs * 1000] })],
  );
  if (otherUs > 0) sample.push(new Sample({ locationId: [id(names.length)], value: [otherUs * 1000] }));
  return new Profile({
    sampleType: [cpu],
    sample,
    location: all.map((_, i) => new Location({ id: id(i), line: [new Line({ functionId: id(i) })] })),
    function: all.map((name, i) => new ProfiledFunction({ id: id(i), name: stringTable.dedup(name) })),
    stringTable,
    timeNanos: BigInt(startedAtMs) * 1_000_000n,
    durationNanos: BigInt(profiledMs) * 1_000_000n,
    periodType: cpu,
  }).encode();
}
