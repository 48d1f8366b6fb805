import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { oneLine } from '../../errors.js';

/**
 * A profile in the form of pprof (github.com/google/pprof, proto/profile.proto), as Go programs serve it.
 *
 * @typedef {{names: string[], us: number}} Stack names: the first caller first; us: CPU time, or time of waiting
 * @typedef {{words: string, type: string}} ProfileKind type: of the values that are read, in nanoseconds
 */

/** @type {ProfileKind} */
const CPU = Object.freeze({ words: 'CPU profile', type: 'cpu' });
/** Waiting of goroutines for locks (runtime.SetMutexProfileFraction of Go). @type {ProfileKind} */
export const LOCKS = Object.freeze({ words: 'profile of locks', type: 'delay' });

/** Longest profile, also when it is decompressed. */
export const MOST_BYTES = 32 * 1024 * 1024;

/** A body that will not be a profile the next time either. */
export class NoProfile extends Error {}

/**
 * @param {Buffer} body compressed or not
 * @param {ProfileKind} [kind]
 * @returns {{stacks: Stack[], durationMs: number}} durationMs: 0 if the profile does not say it
 * @throws {Error | NoProfile}
 */
export function readProfile(body, kind = CPU) {
  const profile = decoded(body);
  const { strings } = profile.stringTable;
  const types = profile.sampleType.map(({ type, unit }) => ({
    type: strings[Number(type)],
    unit: strings[Number(unit)],
  }));
  const at = types.findIndex(({ type, unit }) => type === kind.type && unit === 'nanoseconds');
  if (at === -1) {
    const found = types.map(({ type }) => oneLine(type ?? '', 40)).join(', ');
    throw new NoProfile(
      found === '' ? 'the body is no profile of pprof' : `it is no ${kind.words} but one of ${found}`,
    );
  }
  const functions = new Map(profile.function.map(({ id, name }) => [Number(id), strings[Number(name)] ?? '']));
  // A location has several lines where functions are inlined, the innermost first.
  const locations = new Map(
    profile.location.map(({ id, line, address }) => {
      const names = line.map(({ functionId }) => functions.get(Number(functionId)) ?? '').filter((name) => name !== '');
      return [Number(id), names.length > 0 ? names : [`0x${BigInt(address).toString(16)}`]];
    }),
  );
  const stacks = profile.sample.map(({ locationId, value }) => ({
    names: locationId.flatMap((id) => locations.get(Number(id)) ?? []).reverse(),
    us: Math.round(Number(value[at]) / 1000),
  }));
  return { stacks, durationMs: Number(profile.durationNanos) / 1e6 };
}

/** @param {Buffer} body @returns {Profile} */
function decoded(body) {
  const isCompressed = body[0] === 0x1f && body[1] === 0x8b;
  try {
    return Profile.decode(isCompressed ? gunzipSync(body, { maxOutputLength: MOST_BYTES }) : body);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new NoProfile(`the profile is larger than ${MOST_BYTES / 1024 ** 2} MB`, { cause: error });
    if (code === 'Z_BUF_ERROR') throw new Error('the body ended early', { cause: error });
    throw new NoProfile('the body is no profile of pprof', { cause: error });
  }
}
