/** Whether the answer of a search is true of chains whose limit is known. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomNumbers } from '../../../src/random.js';
import { search } from '../../../src/studies/find.js';
import { reader } from '../../../src/studies/run-files.js';
import { temporaryFolder } from '../../helpers/temporary.js';
import { chainRun } from './queue-chain.js';
import { studied } from './study.js';

/** @import { Chain } from './queue-chain.js' */

/** Each search uses numbers of its own. */
const SEARCHES = 20;
/** Share of the searches whose interval contains the limit, and is narrow enough to be an answer. */
const CONTAIN = 19 / 20;
/** Thirteen runs: those that a search of three minutes makes where blocks take a second. */
const TIME_LIMIT = '130s';
/** Where each rate is made again. */
const LONGER = '230s';

/** @param {string} folder @param {Chain} chain @param {number} seed @param {string} timeLimit */
async function answer(folder, chain, seed, timeLimit) {
  const random = randomNumbers(seed);
  const line = ['find', `--dir=${folder}`, '--rpc=http://127.0.0.1:1', '--rest=0s', `--time-limit=${timeLimit}`];
  const { result } = studied(
    async (config, parts, tools) => (await search(config, parts, { tools, isCapacity: true })).exitCode,
    line,
    ({ args, number }) => ({ run: chainRun(args, chain, random, number) }),
  );
  const exitCode = await result;
  return { exitCode, find: (await reader('sweep'))(`${folder}/sweep.json`).find };
}

describe('searches on chains with a known limit', () => {
  /** @type {Array<[name: string, chain: Omit<Chain, 'perSecond'>, limits: number[], timeLimit?: string]>} */
  const table = [
    ['noise in each block, and runs in which the chain stands still', { noise: 0.1, lapses: 0.03 }, [300, 3000]],
    ['ten blocks a second', { blockS: 0.1, noise: 0.1, lapses: 0.03 }, [1000]],
    ['fewer in flight than it seems', { usable: 0.4, noise: 0.05 }, [1000], LONGER],
  ];
  for (const [name, chain, limits, timeLimit = TIME_LIMIT] of table)
    for (const perSecond of limits)
      it(`have intervals that contain ${perSecond}/s: ${name}`, async (t) => {
        let [contained, done] = [0, 0];
        for (let seed = 0; seed < SEARCHES; seed += 1) {
          const { find, exitCode } = await answer(
            temporaryFolder(t),
            { ...chain, perSecond },
            1000 * perSecond + seed,
            timeLimit,
          );
          const { low = null, high = null } = find ?? {};
          contained += low !== null && high !== null && low <= perSecond && perSecond <= high ? 1 : 0;
          done += exitCode === 0 ? 1 : 0;
        }
        assert.ok(contained >= CONTAIN * SEARCHES, `${contained} of ${SEARCHES} contain it`);
        assert.ok(done >= CONTAIN * SEARCHES, `${done} of ${SEARCHES} are done`);
      });
});
