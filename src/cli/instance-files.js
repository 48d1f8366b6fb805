import { displayName } from '../errors.js';
import { isDevice } from '../files.js';
import { claimFile } from '../output/claim.js';

/** @import { Config } from '../run/config.js' */

/**
 * The files of one of several instances, which are given the same command line and may share a folder.
 */

/** Options that name a file which an instance writes for itself. */
const OWN_FILES = Object.freeze(/** @type {const} */ (['out', 'junit', 'samples', 'blocks', 'hlog', 'html']));

/** What stands for the index in their names. */
const INDEX = '{index}';

/**
 * Their names with the index in its place.
 * @param {Config} given
 * @param {number | null} index null: they are what was given
 * @returns {Partial<Config>}
 */
export function instanceFiles(given, index) {
  if (index === null) return {};
  return Object.fromEntries(OWN_FILES.map((key) => [key, given[key]?.replaceAll(INDEX, String(index)) ?? null]));
}

/**
 * Takes their names, so that no instance overwrites what another one writes, or has written.
 * @param {Config} config
 * @returns {() => void} gives back the names of those that nothing was written into
 */
export function claimInstanceFiles(config) {
  /** @type {Array<() => void>} */
  const claims = [];
  const giveBack = () => claims.forEach((release) => release());
  if (config.index === null) return giveBack;
  try {
    for (const key of OWN_FILES) {
      const file = config[key];
      if (file === null || file === '-' || isDevice(file)) continue;
      const isOwn = String(config.redacted[key]).includes(INDEX);
      const cure = isOwn ? 'another instance has this index, or it was run before' : `put ${INDEX} into its name`;
      claims.push(
        claimFile(
          file,
          `${displayName(file)} is there already: instances do not overwrite each other's files; ${cure}`,
        ),
      );
    }
  } catch (error) {
    giveBack();
    throw error;
  }
  return giveBack;
}
