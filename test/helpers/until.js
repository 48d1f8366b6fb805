import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** A test that waits longer has failed. */
const LONGEST_MS = 60_000;

/**
 * Waits for a condition, for a minute at most.
 * @param {() => boolean | Promise<boolean>} condition
 * @param {() => string} [stateOf] what there is in place of it
 */
export async function until(condition, stateOf = () => String(condition)) {
  const endMs = Date.now() + LONGEST_MS;
  while (!(await condition())) {
    if (Date.now() > endMs) assert.fail(`not after ${LONGEST_MS / 1000} s: ${stateOf()}`);
    await sleep(5);
  }
}
