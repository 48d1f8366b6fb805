import { isDeepStrictEqual } from 'node:util';
import { InputError, IncompleteError } from '../errors.js';
import { ranges, shown, some, walletsOf, whichOf } from './merge-words.js';

/** @import { Card } from './merge-card.js' */

/**
 * Which run files are the run: of each instance one, all of the same run, none missing.
 *
 * @typedef {object} Damaged a run file that was there once
 * @property {string} name
 * @property {number | null} index
 * @property {string | null} id
 * @property {string | null} runId
 * @property {string} why it cannot be read
 *
 * @typedef {object} Chosen
 * @property {Card[]} cards by index, or by slice
 * @property {Card[]} superseded earlier attempts
 * @property {number | null} expected how many there must be; null: nobody said
 * @property {number[]} missing indexes
 * @property {Damaged[]} damaged those of which there is no other copy
 * @property {string[]} notes
 *
 * @typedef {{expect: number | null, runId: string | null, allowPartial: boolean}} Wanted
 */

/** @param {Card[]} found @param {Damaged[]} broken @param {Wanted} wanted @returns {Chosen} */
export function choose(found, broken, wanted) {
  const { cards: ofRun, notes } = ofOneRun(found, wanted.runId);
  const { cards: each, copies } = withoutCopies(ofRun);
  if (copies > 0) notes.push(`${some(copies, 'run file')} were there twice, and count once`);
  const damaged = broken.filter(
    ({ id, runId }) =>
      !each.some((card) => card.id === id) && (wanted.runId === null || (runId ?? wanted.runId) === wanted.runId),
  );
  if (each.length === 0) throw nothingFound(damaged, wanted.expect);
  checkSame(each);
  const { cards, superseded } = lastAttempts(each);
  checkSlices(cards);
  const expected = expectedOf(cards, wanted.expect);
  const missing = missingOf(cards, expected);
  checkWhole({ cards, expected, missing, damaged }, wanted);
  return { cards, superseded, expected, missing, damaged, notes };
}

/** @param {Damaged[]} damaged @param {number | null} expect */
function nothingFound(damaged, expect) {
  if (damaged.length > 0) {
    const [{ name, why }] = damaged;
    const more = damaged.length > 1 ? `, and so are ${damaged.length - 1} more` : '';
    return new IncompleteError(`there is no whole run file: ${name} is damaged: ${why}${more}`);
  }
  const none = 'there is no run file to merge: give the folder of --results, run files, or logs';
  return expect === null
    ? new InputError(none)
    : new IncompleteError(`0 of ${some(expect, 'instance')} are whole; ${none}`);
}

/** @param {Card[]} found @param {string | null} runId */
function ofOneRun(found, runId) {
  const ids = [...new Set(found.map((card) => card.runId))];
  if (runId === null && ids.length <= 1) return { cards: found, notes: /** @type {string[]} */ ([]) };
  if (runId === null) {
    const [first, other] = ids.map((id) => found.find((card) => card.runId === id) ?? found[0]);
    throw new InputError(
      `these are instances of several runs: ${idOf(first)} (${first.name}) and ${idOf(other)} (${other.name})${ids.length > 2 ? ` and ${ids.length - 2} more` : ''}: choose one with --run-id`,
    );
  }
  const cards = found.filter((card) => card.runId === runId);
  if (cards.length === 0 && found.length > 0)
    throw new InputError(
      `no run file is of the run ${shown(runId)}: there ${ids.length === 1 ? 'is' : 'are'} ${
        found.length === 0
          ? 'none'
          : ids
              .map((id) => (id === null ? 'one without a run id' : shown(id)))
              .slice(0, 5)
              .join(', ')
      }`,
    );
  const others = found.length - cards.length;
  return { cards, notes: others === 0 ? [] : [`${some(others, 'run file')} of other runs were left out (--run-id)`] };
}

/** @param {Card} card */
function idOf({ runId }) {
  return runId === null ? 'one without a run id' : shown(runId);
}

/** The same run from the folder and from the logs: a whole file before a partial one, and of those the latest. @param {Card[]} all */
function withoutCopies(all) {
  /** @type {Map<string, Card>} */
  const best = new Map();
  for (const card of all) {
    const known = best.get(card.id);
    const isBetter =
      known === undefined ||
      (known.partial && !card.partial) ||
      (known.partial && card.partial && card.endedAtMs > known.endedAtMs);
    if (isBetter) best.set(card.id, card);
  }
  return { cards: [...best.values()], copies: all.length - best.size };
}

/** @param {Card[]} cards @throws {InputError} which names what makes them two runs */
function checkSame(cards) {
  const [first, ...rest] = cards;
  for (const other of rest) {
    const difference = differenceOf(first, other);
    if (difference !== null) throw new InputError(`${first.name} and ${other.name} are not of one run: ${difference}`);
  }
}

/** @param {Card} a @param {Card} b @returns {string | null} */
function differenceOf(a, b) {
  if ((a.index === null) !== (b.index === null)) {
    const [indexed, other] = a.index === null ? ['the second', 'the first'] : ['the first', 'the second'];
    return `${indexed} has an index, and ${other} has none`;
  }
  for (const [key, words] of /** @type {const} */ ([
    ['chainId', 'chain id'],
    ['genesisHash', 'genesis block'],
  ]))
    if (!mayBeSame(a.environment[key], b.environment[key]))
      return `the ${words} is ${shown(a.environment[key])} and ${shown(b.environment[key])}`;
  if (a.instances !== b.instances) return `--instances is ${shown(a.instances)} and ${shown(b.instances)}`;
  if (a.index !== null && a.threads !== b.threads) return `--threads is ${a.threads} and ${b.threads}`;
  if (a.index !== null && a.firstOffset !== b.firstOffset) return `--offset is ${a.firstOffset} and ${b.firstOffset}`;
  for (const name of new Set([...Object.keys(a.settings), ...Object.keys(b.settings)])) {
    const [one, other] = [a.settings[name] ?? null, b.settings[name] ?? null];
    if (!isDeepStrictEqual(one, other)) return `${shown(name)} is ${shown(one)} and ${shown(other)}`;
  }
  if (a.definitions === b.definitions) return null;
  const [of, other] = [a, b].map(({ definitions }) => JSON.parse(definitions));
  const name = Object.keys({ ...of, ...other }).find((key) => of[key] !== other[key]) ?? '';
  return `${shown(name)} is defined differently (stress ${shown(a.environment.stress)} and ${shown(b.environment.stress)})`;
}

/** A node that no longer has its first block says nothing of it. @param {unknown} a @param {unknown} b */
function mayBeSame(a, b) {
  return a === null || b === null || a === undefined || b === undefined || a === b;
}

/** @param {Card[]} each */
function lastAttempts(each) {
  /** @type {Map<number, Card[]>} */
  const byIndex = new Map();
  for (const card of each) {
    if (card.index === null) continue;
    const others = byIndex.get(card.index) ?? [];
    const twin = others.find(({ attempt }) => attempt === card.attempt);
    if (twin !== undefined)
      throw new InputError(
        `instance ${card.index} is there twice, with attempt ${card.attempt} and different runs: ${twin.source.name} and ${card.source.name}: two instances had one index, or two runs are mixed`,
      );
    byIndex.set(card.index, [...others, card]);
  }
  const attempts = [...byIndex.values()].map((some) => some.sort((a, b) => b.attempt - a.attempt));
  const cards = [...attempts.map(([last]) => last), ...each.filter(({ index }) => index === null)];
  return {
    cards: cards.sort((a, b) => (a.index ?? 0) - (b.index ?? 0) || a.offset - b.offset),
    superseded: attempts.flatMap(([, ...earlier]) => earlier),
  };
}

/** @param {Card[]} cards */
function checkSlices(cards) {
  const sorted = [...cards].sort((a, b) => a.offset - b.offset);
  sorted.forEach((card, i) => {
    const before = sorted[i - 1];
    if (before === undefined || before.offset + before.threads <= card.offset) return;
    throw new InputError(
      `slices overlap: ${before.name} has ${walletsOf(before)}, ${card.name} ${walletsOf(card)}: these are not instances of one run`,
    );
  });
}

/** @param {Card[]} cards @param {number | null} expect */
function expectedOf(cards, expect) {
  const [{ instances }] = cards;
  if (expect !== null && instances !== null && expect !== instances)
    throw new InputError(`--expect is ${expect}, but the run was told that it has ${some(instances, 'instance')}`);
  const expected = expect ?? instances;
  const beyond = cards.find(({ index }) => expected !== null && (index ?? 0) >= expected);
  if (beyond !== undefined)
    throw new InputError(`${beyond.name} is beyond the ${some(expected ?? 0, 'instance')} that there must be`);
  if (expected !== null && cards.length > expected)
    throw new InputError(`there are ${cards.length} instances, and ${expected} were expected (--expect)`);
  return expected;
}

/** @param {Card[]} cards @param {number | null} expected */
function missingOf(cards, expected) {
  const there = new Set(cards.flatMap(({ index }) => index ?? []));
  if (expected === null || there.size === 0) return [];
  return Array.from({ length: expected }, (_, i) => i).filter((i) => !there.has(i));
}

/** @param {Pick<Chosen, 'cards' | 'expected' | 'missing' | 'damaged'>} chosen @param {Wanted} wanted */
function checkWhole({ cards, expected, missing, damaged }, { allowPartial }) {
  if (allowPartial) return;
  const advice = '--partial merges what is there';
  if (damaged.length > 0) {
    const [{ name, why }] = damaged;
    const more = damaged.length > 1 ? `, and so are ${damaged.length - 1} more` : '';
    throw new IncompleteError(`${name} is damaged: ${why}${more} (${advice})`);
  }
  const partial = cards.filter((card) => card.partial);
  const wants = (expected ?? cards.length) - cards.length;
  if (partial.length === 0 && wants === 0) return;
  const reasons = [
    ...(missing.length > 0 ? [`missing: ${ranges(missing)}`] : []),
    ...(missing.length === 0 && wants > 0 ? [`${wants} missing, which have no index to be named by`] : []),
    ...(partial.length > 0 ? [`ended before their runs did: ${whichOf(partial)}`] : []),
  ];
  const whole = cards.length - partial.length;
  throw new IncompleteError(
    `${whole} of ${some(expected ?? cards.length, 'instance')} are whole; ${reasons.join('; ')} (${advice})`,
  );
}
