import {
  CHAIN_ID,
  HEAD,
  ask,
  blockAt,
  fullBlockAt,
  gather,
  headerAt,
  nonceOf,
  nullIfAbsent,
  nullIfOdd,
  outcomesAt,
  receiptOf,
  transactionOf,
} from '../chain/answers.js';
import { isAbsent, isBusy } from '../chain/refusals.js';
import { InterruptedError, ProtocolError, RpcError } from '../errors.js';
import { count, counted, digits } from '../text.js';
import { valuesOf } from './figures.js';
import { judgeRates } from './throughput.js';

/**
 * Compares an evidence file with the chain: its blocks, the outcomes of its operations in each, and the nonces of its wallets.
 * A contradiction needs an endpoint of the same chain, whose head is beyond the block and whose answer is the same twice. A
 * block with another hash is a reorg, unless a later block of the file is on the chain.
 *
 * @import { BlockWithHashes, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Claims } from './claims.js'
 * @import { BlockRow, End, Evidence } from './format.js'
 *
 * @typedef {{hash: string, wallet: number, isSuccess: boolean}} OwnTransaction
 * @typedef {{block: BlockWithHashes | null, own: OwnTransaction[] | null}} Reading own: null: receipts are not served
 * @typedef {{number: number, hash: string, chainHash: string, parentHash: string | null}} OtherHash
 *
 * @typedef {object} State how far a check has come: plain data
 * @property {string} fileSha256
 * @property {number} next index of the next row
 * @property {number[]} counts transactions by wallet
 * @property {Array<string | null>} lastHashes by wallet
 * @property {{blocks: number, operations: number, succeeded: number, reverted: number}} seen
 * @property {number[]} absent numbers of blocks that the endpoint does not have
 * @property {number[]} withoutReceipts
 * @property {number[]} unsteady numbers of blocks whose answers were different
 * @property {OtherHash[]} others blocks with another hash, since the last one that is on the chain
 * @property {{number: number, hash: string} | null} last the last block that is on the chain
 * @property {Array<[claim: string, words: string]>} contradictions
 */

/** Blocks read at once: the receipts of a full block are megabytes. */
const BLOCKS_AT_ONCE = 8;

/** Transactions looked up at once. */
const LOOKUPS_AT_ONCE = 400;

/** Wallets whose present nonce is asked for. */
const LOOKED_UP = 20;

/** Before an answer that contradicts is asked for again. */
const AGAIN_MS = 500;

/** Contradictions after which others are not asked for again. */
const ENOUGH = 100;

/** Blocks named in a message. */
const NAMED = 5;

/** @param {string} fileSha256 @param {number} wallets @returns {State} */
function beginning(fileSha256, wallets) {
  return {
    ...{ fileSha256, next: 0, counts: Array(wallets).fill(0), lastHashes: Array(wallets).fill(null) },
    ...{ seen: { blocks: 0, operations: 0, succeeded: 0, reverted: 0 } },
    ...{ absent: [], withoutReceipts: [], unsteady: [], others: [], last: null, contradictions: [] },
  };
}

const LISTS = ['counts', 'lastHashes', 'absent', 'withoutReceipts', 'unsteady', 'others', 'contradictions'];

/** @param {any} state as it was read @returns {state is State} */
export function isState(state) {
  const isListed = LISTS.every((name) => Array.isArray(state?.[name]));
  return (
    isListed &&
    typeof state.fileSha256 === 'string' &&
    Number.isSafeInteger(state.next) &&
    'blocks' in Object(state.seen)
  );
}

/**
 * Whether a check can resume from this state. A finished check starts anew, because the chain may have changed; a check that
 * lacked answers starts anew, because another endpoint may give them.
 * @param {State} state
 * @param {Evidence} evidence
 */
function isResumable({ fileSha256, next, counts, absent, withoutReceipts, unsteady }, evidence) {
  const isOfFile = fileSha256 === evidence.fileSha256 && counts.length === evidence.addresses.length;
  return isOfFile && next < evidence.rows.length && absent.length + withoutReceipts.length + unsteady.length === 0;
}

export class ChainCheck {
  #evidence;
  #claims;
  #tools;
  /** By address. @type {Map<string, number>} */
  #positions;
  /** @type {Set<string>} */
  #foreign;
  #isExact;
  /** Until the node refuses receipts of whole blocks. */
  #servesReceipts = true;
  #head = -1;
  /** @type {State} */
  state;
  /** Found at the end: an interrupted check finds them again. @type {State['contradictions']} */
  #late = [];
  /** Whether the state is that of whole blocks, so that it can be kept. */
  isWhole = true;

  /**
   * @param {Evidence} evidence
   * @param {Claims} claims
   * @param {{rpc: Rpc, clock: Clock, signal: AbortSignal, onProgress: (label: string, done: number, all: number) => void, keep?: (state: State) => Promise<void>}} tools
   *   keep: called now and then
   * @param {State | null} [known] of an earlier process
   */
  constructor(evidence, claims, tools, known = null) {
    const { addresses, end, fileSha256 } = evidence;
    this.#evidence = evidence;
    this.#claims = claims;
    this.#tools = tools;
    this.#positions = new Map(addresses.map((address, i) => [address, i]));
    this.#foreign = new Set((end?.foreign ?? []).map(({ hash }) => hash));
    this.#isExact = end?.audit?.result === 'exact';
    this.state = known !== null && isResumable(known, evidence) ? known : beginning(fileSha256, addresses.length);
  }

  async run() {
    const { rows } = this.#evidence;
    if (!(await this.#isSameChain())) return;
    const { signal, onProgress, keep } = this.#tools;
    const label = 'checking blocks';
    while (this.state.next < rows.length) {
      if (signal.aborted) throw new InterruptedError('interrupted: the same command with --state goes on');
      const { next } = this.state;
      const part = rows.slice(next, next + BLOCKS_AT_ONCE);
      const readings = await Promise.all(part.map((row) => this.#read(row.number)));
      /** Wallets whose first transaction is in these blocks. @type {Array<{wallet: number, hash: string, number: number}>} */
      const first = [];
      this.isWhole = false;
      for (const [i, row] of part.entries())
        first.push(...(await this.#take(row, rows[next + i - 1]?.number ?? null, readings[i])));
      await this.#checkNonces(
        first,
        ({ wallet }) => this.#evidence.firstNonces[wallet],
        'first',
        this.state.contradictions,
      );
      this.state.next += part.length;
      this.isWhole = true;
      await keep?.(this.state);
      onProgress(label, this.state.next, rows.length);
    }
    onProgress(label, rows.length, rows.length);
    const isWhole = this.#concludeBlocks();
    await this.#concludeNonces();
    if (isWhole) this.#concludeRates();
  }

  /** @returns {Promise<boolean>} */
  async #isSameChain() {
    const { rpc } = this.#tools;
    const { header, rows } = this.#evidence;
    const [id, genesis] = [await ask(rpc, CHAIN_ID, 'audit'), await nullIfOdd(ask(rpc, headerAt(0), 'audit'))];
    const genesisHash = genesis?.hash ?? null;
    const isOtherId = id !== header.chain.id;
    const isOtherGenesis =
      header.chain.genesis !== null && genesisHash !== null && genesisHash !== header.chain.genesis;
    const words = `chain ${id}${genesisHash === null ? '' : `, genesis ${genesisHash}`}`;
    if (!isOtherId && !isOtherGenesis) {
      const open =
        header.chain.genesis === null || genesisHash === null ? ': one of both does not state the genesis' : '';
      this.#claims.conclude('chain', 'confirmed', `${words}${open}`);
      return true;
    }
    const own = `the evidence is of chain ${header.chain.id}, genesis ${header.chain.genesis}`;
    // The hash of a block is that of one chain only.
    for (const row of [rows.at(-1), rows[0]]) {
      if (row === undefined) continue;
      const found = await nullIfAbsent(ask(rpc, headerAt(row.number), 'audit'));
      if (found?.hash !== row.hash) continue;
      this.#claims.contradict('chain', `${own}, and its block ${row.number} (${row.hash}) is one of ${words}`);
      this.#claims.conclude('chain', 'confirmed', words);
      return true;
    }
    const why = `the endpoint is of ${words}, and ${own}: give an endpoint of that chain`;
    this.#claims.conclude('chain', 'not checkable', why, { isOpen: true });
    return false;
  }

  /** @param {number} number @returns {Promise<Reading>} */
  async #read(number) {
    const block = await nullIfAbsent(gather(this.#tools.rpc, blockAt(number), 'audit'));
    if (block === null) return { block, own: null };
    return { block, own: block.transactions.length === 0 ? [] : await this.#ownIn(block) };
  }

  /** @param {BlockWithHashes} block @returns {Promise<OwnTransaction[] | null>} */
  async #ownIn({ number, hash, transactions }) {
    const { rpc } = this.#tools;
    if (this.#servesReceipts) {
      const receipts = await ask(rpc, outcomesAt(number), 'audit').catch((error) => {
        const isAnswer = (error instanceof RpcError || error instanceof ProtocolError) && !isBusy(error);
        if (!isAnswer) throw error;
        if (!isAbsent(error)) this.#servesReceipts = false;
        return null;
      });
      const isWhole = receipts?.length === transactions.length && receipts.every(({ from }) => from !== null);
      if (receipts !== null && isWhole) {
        const isOf = receipts.every((one) => (one.blockHash ?? hash) === hash);
        return isOf ? this.#ownOf(receipts) : null;
      }
    }
    const block = await nullIfAbsent(ask(rpc, fullBlockAt(number), 'audit'));
    if (block === null || block.hash !== hash) return null;
    const own = block.transactions.filter(({ from }) => this.#positions.has(from ?? ''));
    // A node that does not serve them shows no outcomes.
    const readOne = (/** @type {string} */ of) =>
      nullIfAbsent(gather(rpc, receiptOf(of), 'audit')).catch((error) => {
        if (error instanceof RpcError && !isBusy(error)) return null;
        throw error;
      });
    const receipts = await Promise.all(own.map((one) => readOne(one.hash)));
    if (receipts.includes(null)) return null;
    return this.#ownOf(
      own.map(({ hash: of, from }, i) => ({ hash: of, from, isSuccess: receipts[i]?.isSuccess === true })),
    );
  }

  /** @param {ReadonlyArray<{hash: string, from: string | null, isSuccess: boolean}>} all @returns {OwnTransaction[]} */
  #ownOf(all) {
    return all.flatMap(({ hash, from, isSuccess }) => {
      const wallet = this.#positions.get(from ?? '');
      return wallet === undefined ? [] : [{ hash, wallet, isSuccess }];
    });
  }

  /** @param {BlockRow} row @param {number | null} before number of the row before @param {Reading} reading @returns {Promise<Array<{wallet: number, hash: string, number: number}>>} wallets with their first transaction */
  async #take(row, before, { block, own }) {
    const { state } = this;
    if (block === null) {
      state.absent.push(row.number);
      return [];
    }
    const { parentHash, hash: chainHash } = block;
    if (chainHash !== row.hash) {
      state.others.push({ number: row.number, hash: row.hash, chainHash, parentHash });
      return [];
    }
    await this.#judgeOthers(row, parentHash);
    if (before !== null && before < row.number - 1) await this.#judgeGap(row, parentHash);
    state.last = { number: row.number, hash: row.hash };
    state.seen.blocks += 1;
    const problems = this.#problemsOf(row, block, own);
    if (problems.length > 0 && state.contradictions.length < ENOUGH) await this.#contradictTwice(row, problems);
    if (own === null) {
      state.withoutReceipts.push(row.number);
      return [];
    }
    return this.#count(row, own);
  }

  /** @param {BlockRow} row @param {OwnTransaction[]} own */
  #count({ number }, own) {
    const { state } = this;
    const first = [];
    for (const { wallet, hash, isSuccess } of own) {
      if (state.counts[wallet] === 0) first.push({ wallet, hash, number });
      state.counts[wallet] += 1;
      state.lastHashes[wallet] = hash;
      if (this.#foreign.has(hash)) continue;
      state.seen.operations += 1;
      state.seen[isSuccess ? 'succeeded' : 'reverted'] += 1;
    }
    return first;
  }

  /** @param {BlockRow} row @param {BlockWithHashes} block @param {OwnTransaction[] | null} own @returns {Array<[claim: string, words: string]>} */
  #problemsOf(row, block, own) {
    const at = `block ${row.number} (${row.hash})`;
    /** @type {Array<[string, string]>} */
    const problems = [];
    /** @type {Array<[string, number | null, number | null]>} */
    const members = [
      ['timestamp', row.timestampS, block.timestampS],
      ['gas used', row.gasUsed, block.gasUsed ?? 0],
      ['gas limit', row.gasLimit, block.gasLimit ?? 0],
      ['number of transactions', row.transactions, block.transactions.length],
    ];
    for (const [name, stated, found] of members)
      if (stated !== found) problems.push(['blocks', `${at}: its ${name} is ${found}, and ${stated} in the file`]);
    if (own === null) return problems;
    const ours = own.filter(({ hash }) => !this.#foreign.has(hash));
    for (const [name, isSuccess] of /** @type {const} */ ([
      ['succeeded', true],
      ['reverted', false],
    ])) {
      const found = ours.filter((one) => one.isSuccess === isSuccess);
      const isWrong = this.#isExact ? found.length !== row[name] : found.length < row[name];
      if (!isWrong) continue;
      const other = ours.filter((one) => one.isSuccess !== isSuccess);
      const [shown = null] = found.length > row[name] ? found.slice(-1) : other;
      const of = shown === null ? '' : `; transaction ${shown.hash} ${shown.isSuccess ? 'succeeded' : 'was reverted'}`;
      problems.push([
        'operations',
        `${at}: ${found.length} operations of the wallets ${name}, and ${row[name]} in the file${of}`,
      ]);
    }
    return problems;
  }

  /** @param {BlockRow} row @param {Array<[claim: string, words: string]>} problems */
  async #contradictTwice(row, problems) {
    const { clock, signal } = this.#tools;
    await clock.sleep(AGAIN_MS, signal);
    const { block, own } = await this.#read(row.number);
    const isSame = block?.hash === row.hash && String(this.#problemsOf(row, block, own)) === String(problems);
    if (isSame && (await this.#isStill(row.number, row.hash))) this.state.contradictions.push(...problems);
    else this.state.unsteady.push(row.number);
  }

  /**
   * This block is on the chain: so are those before it, and a block of the file with another hash there never was.
   * @param {BlockRow} row @param {string | null} parentHash
   */
  async #judgeOthers(row, parentHash) {
    const { others } = this.state;
    if (others.length === 0) return;
    this.state.others = [];
    let child = parentHash;
    for (const { number, hash, chainHash, parentHash: parent } of others.reverse()) {
      // Where parents are not the hashes of the blocks before, or blocks are missing, nothing is shown.
      if (child !== chainHash || !(await this.#isStill(number, chainHash))) {
        this.state.unsteady.push(number);
        return;
      }
      const words = `block ${number} is ${chainHash}, an ancestor of block ${row.number} (${row.hash}), and ${hash} in the file`;
      this.state.contradictions.push(['blocks', words]);
      child = parent;
    }
  }

  /** Whether the endpoint gives this hash again, and its head is beyond. @param {number} number @param {string} hash */
  async #isStill(number, hash) {
    const { rpc } = this.#tools;
    if (this.#head <= number) this.#head = await ask(rpc, HEAD, 'audit');
    const again = await nullIfAbsent(ask(rpc, headerAt(number), 'audit'));
    return again?.hash === hash && this.#head > number;
  }

  /** Blocks that the file leaves out. @param {BlockRow} row @param {string | null} parentHash */
  async #judgeGap(row, parentHash) {
    const { last } = this.state;
    if (last === null) return;
    // Some chains have heights without a block.
    if (parentHash === last.hash || parentHash === null) return;
    const left = await nullIfAbsent(ask(this.#tools.rpc, headerAt(row.number - 1), 'audit'));
    if (left === null || left.hash !== parentHash || !(await this.#isStill(left.number, parentHash))) return;
    this.state.contradictions.push([
      'blocks',
      `the file leaves out block ${left.number} (${left.hash}), the parent of block ${row.number}`,
    ]);
  }

  /**
   * @param {ReadonlyArray<{wallet: number, hash: string, number?: number}>} all
   * @param {(one: {wallet: number}) => number} expectedOf
   * @param {'first' | 'last'} which
   * @param {State['contradictions']} found gets what is wrong
   * @returns {Promise<Set<number>>} wallets with another nonce
   */
  async #checkNonces(all, expectedOf, which, found) {
    const { rpc } = this.#tools;
    /** @type {Set<number>} */
    const wrong = new Set();
    for (let at = 0; at < all.length; at += LOOKUPS_AT_ONCE) {
      const part = all.slice(at, at + LOOKUPS_AT_ONCE);
      const ask1 = (/** @type {string} */ hash) => nullIfAbsent(gather(rpc, transactionOf(hash), 'audit'));
      const answers = await Promise.all(part.map(({ hash }) => ask1(hash)));
      for (const [i, one] of part.entries()) {
        const nonce = answers[i]?.nonce ?? null;
        const expected = expectedOf(one);
        if (nonce === null || nonce === expected) continue;
        const again = await ask1(one.hash);
        if (again?.nonce !== nonce) continue;
        const address = this.#evidence.addresses[one.wallet];
        const where = again.blockNumber === null ? '' : ` in block ${again.blockNumber}`;
        const words = `wallet ${address}: its ${which} transaction ${one.hash}${where} has the nonce ${nonce}, and ${expected} by the file`;
        found.push(['nonces', words]);
        wrong.add(one.wallet);
      }
    }
    return wrong;
  }

  async #concludeNonces() {
    const { addresses, firstNonces, nextNonces } = this.#evidence;
    const { state } = this;
    const isWhole =
      state.absent.length + state.withoutReceipts.length + state.others.length + state.unsteady.length === 0;
    if (!this.#isExact || !isWhole) {
      const why = isWhole ? 'the audit of the run was not exact' : 'not all blocks of the run could be read';
      this.#conclude('nonces', 'not checkable', why, { isOpen: !isWhole });
      return;
    }
    const last = addresses.flatMap((_, wallet) => {
      const hash = state.lastHashes[wallet];
      return hash === null ? [] : [{ wallet, hash }];
    });
    const wrong = await this.#checkNonces(last, ({ wallet }) => nextNonces[wallet] - 1, 'last', this.#late);
    /** @type {string[]} */
    const odd = [];
    for (const [i, address] of addresses.entries()) {
      const own = nextNonces[i] - firstNonces[i];
      if (own === state.counts[i]) continue;
      const found = `wallet ${address}: the blocks have ${counted(state.counts[i], 'transaction')} of it, and ${own} by its nonces ${firstNonces[i]} to ${nextNonces[i] - 1}`;
      // The receipts were read once.
      if (wrong.has(i) || (odd.length < LOOKED_UP && (await this.#isUnused(address, nextNonces[i]))))
        this.#late.push(['nonces', found]);
      else odd.push(address);
    }
    if (odd.length > 0) {
      this.#conclude('nonces', 'not checkable', `receipts and nonces of wallet ${odd[0]} do not agree`, {
        isOpen: true,
      });
      return;
    }
    const words = `${counted(addresses.length, 'wallet')}: first and last nonce, and as many transactions`;
    this.#conclude('nonces', 'confirmed', words);
  }

  /** Whether the wallet has not used all of its nonces, also now. @param {string} address @param {number} next */
  async #isUnused(address, next) {
    const { rpc } = this.#tools;
    const asked = () => nullIfAbsent(ask(rpc, nonceOf(address, 'latest'), 'audit'));
    const [one, again] = [await asked(), await asked()];
    return one !== null && one === again && one < next;
  }

  /** @param {string} name @param {Parameters<Claims['conclude']>[1]} state @param {string} words @param {{isOpen?: boolean}} [more] */
  #conclude(name, state, words, more) {
    const all = [...this.state.contradictions, ...this.#late];
    for (const [claim, found] of all) if (claim === name) this.#claims.contradict(name, found);
    this.#claims.conclude(name, state, words, more);
  }

  /** @returns {boolean} whether all blocks and receipts were read */
  #concludeBlocks() {
    const { state } = this;
    const { rows } = this.#evidence;
    const { absent, withoutReceipts, unsteady, others, seen } = state;
    const open = [
      absent.length > 0 && `the endpoint does not have ${blocksText(absent)}`,
      unsteady.length > 0 &&
        `its answers about ${blocksText(unsteady)} were not the same twice, or its head is not beyond`,
    ].filter((words) => words !== false);
    if (others.length > 0) {
      const named = others.slice(0, NAMED).map(({ number, hash }) => `${number} (${hash})`);
      const more =
        others.length > NAMED ? ` and ${count(others.length - NAMED)} more, to ${others.at(-1)?.number}` : '';
      this.#conclude('blocks', 'reorged', `no longer on the chain: block ${named.join(', ')}${more}`);
    } else if (open.length > 0) this.#conclude('blocks', 'not checkable', open.join('; '), { isOpen: true });
    else
      this.#conclude(
        'blocks',
        'confirmed',
        `${counted(seen.blocks, 'block')}: hash, timestamp, gas, number of transactions`,
      );
    const isWhole = seen.blocks === rows.length && withoutReceipts.length === 0 && unsteady.length === 0;
    const counts = `${count(seen.succeeded)} succeeded and ${count(seen.reverted)} were reverted`;
    const bounds = this.#isExact ? '' : ', at least as many as the file says in each block';
    if (isWhole) {
      this.#judgeCounts();
      this.#conclude('operations', 'confirmed', `${counts}${bounds}`);
    } else {
      const why =
        withoutReceipts.length > 0
          ? `the endpoint has no receipts of ${blocksText(withoutReceipts)}`
          : `known of ${count(seen.blocks)} of ${counted(rows.length, 'block')}`;
      this.#conclude('operations', others.length > 0 ? 'reorged' : 'not checkable', `${counts}; ${why}`, {
        isOpen: true,
      });
    }
    return isWhole;
  }

  /** More operations than the blocks have cannot have been verified, whatever the audit was. */
  #judgeCounts() {
    const { end } = this.#evidence;
    const { succeeded } = this.state.seen;
    if (end === null) return;
    const { verified, includedLate, reorgedOut } = valuesOf(end);
    const claimed = Number(verified ?? 0) + Number(includedLate ?? 0) - Number(reorgedOut ?? 0);
    if (claimed > succeeded)
      this.#late.push([
        'operations',
        `${count(claimed)} are said to have succeeded (verified + includedLate - reorgedOut), and the blocks have ${count(succeeded)}`,
      ]);
  }

  #concludeRates() {
    const { rows, end } = this.#evidence;
    const claims = this.#claims;
    if (end === null) return;
    for (const { name, state, words } of judgeRates(rows, end)) {
      if (state === 'contradicted') claims.contradict(name, words);
      claims.conclude(name, state, words);
    }
    const { fullness } = valuesOf(end);
    const isShown = !claims.isContradicted('blocks') && !claims.isContradicted('sums');
    if ((fullness ?? null) !== null && isShown)
      claims.conclude(
        'fullness',
        'confirmed',
        `blocks ${digits(100 * Number(fullness))} % full on average in the window`,
      );
  }
}

/** @param {readonly number[]} numbers */
function blocksText(numbers) {
  const named = numbers.slice(0, NAMED).join(', ');
  return `${numbers.length === 1 ? 'block' : 'blocks'} ${named}${numbers.length > NAMED ? ` and ${count(numbers.length - NAMED)} more` : ''}`;
}
