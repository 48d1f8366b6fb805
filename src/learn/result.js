import { displayName } from '../errors.js';
import { tableOf } from '../outputs/table.js';
import { count, counted, digits, partOf, percent, quantity, shellWord } from '../text.js';

/**
 * What stress learn prints.
 *
 * @import { Result } from '../outputs/table.js'
 * @import { Facts } from './facts.js'
 */

/** @param {Facts} facts @param {string | null} file the config file that was written @returns {Result} */
export function resultOf(facts, file) {
  const { blocks, transactions, fittedShare, chain, mix, members, notFitted, endpoint, client, chainId } = facts;
  const many = counted(members.length, 'workload');
  const extent = facts.isInterrupted
    ? `interrupted, ${partOf(blocks.count, facts.wanted, 'block')}`
    : counted(blocks.count, 'block');
  return {
    title: `Learned: ${extent} (${blocks.from} to ${blocks.to}), ${counted(transactions, 'transaction')}; chain ${chainId}, ${client ?? 'unknown client'} at ${endpoint}`,
    verdict: `${percent(fittedShare)} of the transactions are fitted by ${many}; mean gas ${digits(mix.gas)}, of the chain ${digits(chain.gas)}`,
    tables: [
      tableOf(
        'members',
        'Transactions',
        ['', 'share', 'gas', 'of the mix', 'bytes', 'of the mix', 'workload'],
        [
          ...members.map((one) => [
            ...[one.words, percent(one.share), count(one.chain.gas), count(one.mix.gas)],
            ...[count(one.chain.bytes), count(one.mix.bytes), one.name],
          ]),
          ...notFitted.map((one) => [`not fitted: ${one.words}`, percent(one.share), '-', '-', '-', '-', '-']),
        ],
      ),
      tableOf('chain', 'Figures', ['', 'chain', 'fitted mix'], figureRows(facts)),
      tableOf(
        'distance',
        'Distance (Kolmogorov-Smirnov)',
        ['', 'exact', 'within 5 %'],
        ['gas', 'bytes'].map((name) => {
          const { exact, within5Percent } = facts.distance[/** @type {'gas' | 'bytes'} */ (name)];
          return [`${name} per transaction`, digits(exact), digits(within5Percent)];
        }),
        ['within 5 %: values that differ by less count as equal'],
      ),
    ],
    notes: [
      ...(facts.isEnough ? [`${counted(transactions, 'transaction')} are enough: older blocks were not read`] : []),
      ...Object.entries(facts.unmeasured).map(
        ([pointer, why]) => `unknown: ${pointer.slice(1).replaceAll('/', ', ')}: ${why}`,
      ),
      ...(facts.isInterrupted && file !== null
        ? [`the blocks are kept in ${displayName(file)}.part: the same command resumes`]
        : []),
      ...(file === null ? ['give --out FILE to write the mix as a config file'] : [runWords(file, chain)]),
    ],
  };
}

/** @param {Facts} facts */
function figureRows({ chain, mix }) {
  const types = [...new Set([...Object.keys(chain.types), ...Object.keys(mix.types)])].sort();
  const rate = chain.transactionsPerSecond;
  return [
    ['gas per transaction', digits(chain.gas), digits(mix.gas)],
    ['bytes of calldata', digits(chain.bytes), digits(mix.bytes)],
    ...types.map((type) => [`type ${type}`, percent(chain.types[type] ?? 0), percent(mix.types[type] ?? 0)]),
    ['senders per block', digits(chain.sendersPerBlock), digits(mix.sendersPerBlock)],
    ['transactions per block', digits(chain.transactionsPerBlock), '-'],
    ['transactions per second', digits(rate), digits(rate)],
    [
      'Mgas per second',
      millions(chain.gasPerSecond),
      millions(rate === null || mix.gas === null ? null : rate * mix.gas),
    ],
    ['seconds per block', quantity(chain.blockSeconds), '-'],
    ['gas of the block limit', chain.fullness === null ? '-' : percent(chain.fullness), '-'],
  ];
}

/** @param {number | null} value */
function millions(value) {
  return digits(value === null ? null : value / 1e6);
}

/** @param {string} file @param {Facts['chain']} chain */
function runWords(file, { transactionsPerSecond }) {
  const rate = transactionsPerSecond === null ? '' : ' --rate chain';
  return `run it: stress --config ${shellWord(displayName(file))}${rate} --rpc URL -d 30s`;
}
