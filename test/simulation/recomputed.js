/**
 * Laws that work out a run file again: from the samples, the blocks and the chain, with nothing of the recorder. A figure that
 * only its own code has counted is held to nothing.
 */
import { figureNames, shownFigure } from '../../src/stats/figures.js';
import { checkThresholds, parseThreshold } from '../../src/stats/thresholds.js';
import { assertAgrees, assertDistribution, isCensored, totalUs, windowOf } from '../helpers/recompute.js';
import { sumOf } from '../helpers/run-file.js';
import { FUNDER } from './features.js';
import { LOCK_WAIT_US_PER_SECOND, NODE_CPU_US_PER_SECOND } from './pages.js';
import { IDLE_MACHINE } from './platform.js';

/**
 * @import { MetricsReading, RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Law } from './laws.js'
 * @import { Observed } from './run.js'
 * @import { Row } from '../helpers/recompute.js'
 */

/** As --samples has it. @param {Observed} observed @returns {Row[]} */
function rowsOf({ samples, loadStartUs }) {
  const since = (/** @type {number | null} */ atUs) => (atUs === null ? null : atUs - loadStartUs);
  return samples.map((sample) => ({
    ...{ wallet: sample.walletIndex, nonce: sample.nonce, outcome: sample.outcome, code: sample.code },
    ...{ name: sample.name, endpoint: sample.endpoint, hashes: sample.hashes },
    intended_at_us: since(sample.intendedAtUs),
    started_at_us: since(sample.startedAtUs),
    sent_at_us: since(sample.sentAtUs),
    accepted_at_us: since(sample.acceptedAtUs),
    block_seen_at_us: since(sample.blockSeenAtUs),
    included_at_us: since(sample.includedAtUs),
    ended_at_us: since(sample.endedAtUs),
    spread_from_us: since(sample.sighting?.fromUs ?? null),
    spread_to_us: since(sample.sighting?.toUs ?? null),
  }));
}

/** @param {() => void} assert @returns {string[]} */
function complaints(assert) {
  try {
    assert();
    return [];
  } catch (error) {
    return [/** @type {Error} */ (error).message.split('\n').slice(0, 8).join(' ')];
  }
}

/** Beside their share of the requests. */
const CHECKS_PER_SECOND = 4;
const CHECKS_OF_A_ROUND = 20;

/** @param {RunFile} run */
const hasWindow = ({ end, window }) => end !== 'set_up_failed' && window.durationMs > 0;

/** @param {Row[]} rows */
const outcomesOf = (rows) => {
  const ended = (/** @type {string} */ outcome) => rows.filter((row) => row.outcome === outcome).length;
  return {
    verified: ended('verified'),
    failed: ended('failed'),
    timedOut: ended('timed_out'),
    abandoned: ended('abandoned'),
  };
};

/** @param {object} a @param {object} b */
const differ = (a, b) => JSON.stringify(a) !== JSON.stringify(b);

/** A tag is read after a block was: two answers, and what the next look at the head takes. */
const TAG_LATE_MS = 150;

/** @type {Readonly<Record<string, Law>>} */
export const RECOMPUTED = {
  *'figures are those of the samples'(observed, run) {
    // A call that is compared is reported late, and counts in the row in which it is.
    const isCompared = observed.config.workload.checkRpc !== null;
    if (!hasWindow(run) || isCompared || run.rates.spreadMs !== run.window.durationMs) return;
    // What happens in the very instant in which the window ends, such as by what ends both, is in it or not.
    const { toUs } = windowOf(run);
    const isAtEnd = (/** @type {Row} */ row) =>
      ['accepted_at_us', 'included_at_us', 'ended_at_us'].some((one) => row[one] === toUs);
    if (rowsOf(observed).some(isAtEnd)) return;
    yield* complaints(() => assertAgrees(run, rowsOf(observed)));
  },

  *'halves are those of the samples'(observed, run) {
    if (!hasWindow(run)) return;
    const { fromUs, toUs } = windowOf(run);
    const middleUs = fromUs + (observed.config.load.durationMs ?? 0) * 500;
    // A window that ended early, or has no fixed end, has another middle.
    if (run.end !== 'duration' || toUs - fromUs !== (observed.config.load.durationMs ?? 0) * 1000) return;
    const good = rowsOf(observed).filter(
      (row) =>
        (row.outcome === 'verified' || isCensored(row)) && row.intended_at_us >= fromUs && row.intended_at_us <= toUs,
    );
    const halves = [
      good.filter((row) => row.intended_at_us < middleUs),
      good.filter((row) => row.intended_at_us >= middleUs),
    ];
    const counted = halves.map((rows) => ({ count: rows.length, sumUs: sumOf(rows.map(totalUs)) }));
    if (differ(run.latency.halves, counted))
      yield `${JSON.stringify(run.latency.halves)}, by the samples ${JSON.stringify(counted)}`;
  },

  *'parts by name, endpoint and stage are those of the samples'(observed, run) {
    if (!hasWindow(run)) return;
    const { fromUs, toUs } = windowOf(run);
    const all = rowsOf(observed);
    const isCompared = observed.config.workload.checkRpc !== null;
    /** @param {string} key @param {string} part @param {any} group */
    const check = (key, part, group) => {
      const rows = all.filter((row) => String(row[key] ?? '') === part);
      const due = rows.filter((row) => row.intended_at_us >= fromUs && row.intended_at_us <= toUs);
      const found = complaints(() => {
        assertDistribution(group.censored, due.filter(isCensored).map(totalUs), `${key} ${part}, censored`);
        const good = due.filter((row) => isCensored(row) || row.outcome === 'verified');
        assertDistribution(group.latency, good.map(totalUs), `${key} ${part}`);
      });
      const counts = outcomesOf(rows);
      if (differ(group.counts, counts))
        found.push(`${key} ${part}: ${JSON.stringify(group.counts)}, samples ${JSON.stringify(counts)}`);
      const early = rows.filter((row) => row.outcome === 'failed' && row.ended_at_us < fromUs).length;
      if (!isCompared && (group.failedInWarmUp ?? 0) !== early)
        found.push(`${key} ${part}: ${group.failedInWarmUp} failed in the warm-up, samples ${early}`);
      return found;
    };
    const isNamed = all.every(({ name }) => name !== null);
    if (isNamed) for (const [name, group] of Object.entries(run.byName)) yield* check('name', name, group);
    for (const [endpoint, group] of Object.entries(run.byEndpoint)) yield* check('endpoint', endpoint, group);
    for (const { stage, startMs, endMs, counts, latency } of run.byStage ?? []) {
      const due = all.filter(
        ({ intended_at_us: atUs }) => atUs - fromUs > startMs * 1000 && atUs - fromUs < endMs * 1000,
      );
      // An operation that is due at a border is in one of the two.
      const { verified, failed } = outcomesOf(due);
      if (Math.abs(counts.verified - verified) > 2 || Math.abs(counts.failed - failed) > 2)
        yield `stage ${stage}: ${JSON.stringify(counts)}, samples ${verified} verified, ${failed} failed`;
      if (latency.count > due.length + 2) yield `stage ${stage}: ${latency.count} latencies of ${due.length} samples`;
    }
  },

  *'intervals are those of the samples'(observed, run) {
    // A call that is compared counts in the row in which its comparison ends.
    if (!hasWindow(run) || observed.config.workload.checkRpc !== null) return;
    const all = rowsOf(observed);
    const within = (/** @type {number | null} */ atUs, /** @type {RunFile['intervals'][number]} */ row, edgeUs = 0) =>
      atUs !== null && atUs > row.startMs * 1000 - edgeUs && atUs < row.endMs * 1000 + edgeUs;
    for (const row of run.intervals) {
      // What ends at a border, or is reported late by a thread, is in a row beside it.
      const [least, most] = [-100_000, 100_000].map((edgeUs) =>
        outcomesOf(all.filter(({ ended_at_us: atUs }) => within(atUs, row, edgeUs))),
      );
      for (const name of /** @type {const} */ (['verified', 'failed', 'timedOut']))
        if (row.counts[name] < least[name] || row.counts[name] > most[name])
          yield `${name} from ${row.startMs} to ${row.endMs} ms: ${row.counts[name]}, samples ${least[name]} to ${most[name]}`;
    }
  },

  *'figures and their shares are those of the counts'(observed, run) {
    if (!hasWindow(run)) return;
    const plain = JSON.parse(JSON.stringify(run));
    const fromUs = windowOf(run).fromUs;
    const failed = rowsOf(observed).filter((row) => row.outcome === 'failed' && row.ended_at_us >= fromUs).length;
    const shown = shownFigure('failed', plain);
    const isCompared = observed.config.workload.checkRpc !== null;
    if (!isCompared && shown !== null && shown !== failed) yield `failed ${shown}, samples ${failed}`;
    for (const [part, whole] of [
      ['dropped', 'scheduled'],
      ['failed', 'started'],
      ['timed_out', 'started'],
    ]) {
      const [result] = checkThresholds([parseThreshold(`${part}<=100%`)], plain);
      const share = (100 * Number(shownFigure(part, plain))) / Number(shownFigure(whole, plain));
      if (result.value !== null && Math.abs(Number(result.value) - share) > 1e-9)
        yield `${part} ${result.value} %, the counts say ${share}`;
    }
    for (const name of figureNames().filter((one) => /^(total|start|lag)\.(avg|min|max|stddev|p\d+)$/.test(one))) {
      const value = shownFigure(name, plain);
      if (value !== null && (!Number.isFinite(value) || value < 0)) yield `${name} ${value}`;
    }
  },

  *'blocks are those of the chain'({ chain, behaviour, blocks: seenBlocks }, run) {
    const { blocks, reorgs, intervals } = run;
    if (reorgs.count > 0 || behaviour.lagMs !== undefined) return;
    // A reorg after the drain changes what the audit finds, but not what the load has seen.
    if (seenBlocks.some(({ number, hash }) => chain.blockAt(number).block.hash !== hash)) return;
    const own = new Set(chain.submissions.map(({ hash }) => hash));
    for (const row of [blocks, ...intervals.map((one) => one.blocks)]) {
      if (row.count === 0 || row.firstNumber === null || row.lastNumber === null) continue;
      if (row.count !== row.lastNumber - row.firstNumber + 1) continue;
      const seen = Array.from({ length: row.count }, (_, i) => chain.blockAt(Number(row.firstNumber) + i).block);
      const transactions = sumOf(seen.map((block) => block.transactions.length));
      const gasUsed = sumOf(seen.map((block) => Number(block.gasUsed)));
      const ours = sumOf(
        seen.map((block) => block.transactions.filter((/** @type {any} */ tx) => own.has(tx.hash)).length),
      );
      if (
        row.transactions !== transactions ||
        (row.gasUsed !== gasUsed && behaviour.statesNoGas !== true) ||
        row.ours > ours
      )
        yield `${row.firstNumber} to ${row.lastNumber}: ${JSON.stringify(row)}; the chain has ${transactions} transactions, ${ours} of the run, ${gasUsed} gas`;
    }
  },

  *'operations are due by the schedule'(observed, run) {
    const { config, samples } = observed;
    const { load } = config;
    if (!hasWindow(run)) return;
    const { scheduled } = run.window.counts;
    const seconds = (run.window.durationMs - (run.pace?.pausedMs ?? 0)) / 1000;
    if (load.ratePerSecond !== null && load.arrival === 'poisson') {
      const expected = load.ratePerSecond * seconds;
      if (Math.abs(scheduled - expected) > 5 * Math.sqrt(expected) + 2)
        yield `${scheduled} were due in ${seconds} s at ${load.ratePerSecond} per second, at random`;
    }
    if (load.stages !== null && run.end === 'duration' && run.pace === undefined) {
      const stages = run.byStage ?? [];
      for (const { stage, startMs, endMs, fromPerSecond, toPerSecond, counts } of stages) {
        const expected = ((fromPerSecond + toPerSecond) / 2) * ((endMs - startMs) / 1000);
        if (Math.abs(counts.scheduled - expected) > 1 + 2 * run.generator.workers)
          yield `stage ${stage}: ${counts.scheduled} of ${expected} were due`;
      }
    }
    if (
      load.iterations !== null &&
      run.end === 'iterations' &&
      run.counts.started !== load.iterations * load.threads * (run.config.mix === undefined ? 1 : 1)
    )
      yield `${run.counts.started} operations: ${load.threads} wallets, --iterations ${load.iterations}`;
    if (load.gasPerSecond !== null && run.gasRate !== undefined) {
      const { gasPerOperation, perSecond } = run.gasRate;
      if (
        gasPerOperation !== null &&
        Math.abs(perSecond * gasPerOperation - load.gasPerSecond) > 0.01 * load.gasPerSecond
      )
        yield `${perSecond} per second of ${gasPerOperation} gas for ${load.gasPerSecond} gas a second`;
      if (gasPerOperation !== null && Math.abs(scheduled - perSecond * seconds) > 2 + 3 * run.generator.workers)
        yield `${scheduled} were due in ${seconds} s, ${perSecond} per second`;
    }
    if (config.workload.mix.length === 0) yield* seats(samples, load.inFlight);
  },

  *'the facts of a storm are those of the submissions'(observed, { generator, counts, end }) {
    const { chain, config, loadStartUs, behaviour, samples } = observed;
    const { storm, resubmissions } = generator;
    // A slow answer to the last one comes after the end. What a node loses is sent again by later operations, and by the audit.
    const isDisturbed = behaviour.before || behaviour.after || behaviour.away || behaviour.takesMs;
    if (storm === undefined || end === 'set_up_failed' || isDisturbed || behaviour.causes.includes('lost')) return;
    const sent = chain.submissions.filter(({ atUs, from }) => atUs >= loadStartUs && from !== FUNDER);
    const hashes = new Set(sent.map(({ hash }) => hash));
    const nonces = new Set(sent.map(({ from, nonce }) => `${from}:${nonce}`));
    const others = resubmissions.repeated + resubmissions.rebroadcast + resubmissions.replaced;
    // After a refusal another operation has the nonce, and at a fixed price the same bytes.
    const known = samples.flatMap((sample) => sample.hashes);
    const again = sent.length - hashes.size - (known.length - new Set(known).size);
    const duplicates = storm.duplicates + storm.duplicatesRefused;
    const { duplicateShare, replaceShare } = config.load;
    if (duplicateShare !== null && (again < duplicates || again > duplicates + others))
      yield `${again} were sent twice, the storm says ${duplicates}, and ${others} were sent again`;
    // After a refusal the nonce goes to another operation, which may offer another price.
    const other = hashes.size - nonces.size;
    const replacements = storm.replacements + storm.replacementsRefused;
    if (replaceShare !== null && (other < replacements || other > replacements + others + counts.failed))
      yield `${other} were replaced, the storm says ${replacements}, and ${others} were sent again`;
  },

  *'what was sent again is counted once'({ chain, loadStartUs, behaviour, samples }, { generator, end }) {
    const { storm, resubmissions } = generator;
    const isDisturbed = behaviour.before || behaviour.after || behaviour.away || behaviour.takesMs;
    if (storm !== undefined || end === 'set_up_failed' || isDisturbed) return;
    const sent = chain.submissions.filter(({ atUs, from }) => atUs >= loadStartUs && from !== FUNDER);
    // The nonce of a lost transaction is used by another operation.
    const first = samples.filter(({ hashes, sentAtUs }) => hashes.length > 0 && sentAtUs !== null);
    const again = sent.length - first.length;
    // The audit sends once more what is still open.
    const lastUs = Math.max(...samples.map(({ endedAtUs }) => endedAtUs));
    const ofAudit = sent.filter(({ atUs }) => atUs > lastUs).length;
    const counted = resubmissions.repeated + resubmissions.rebroadcast + resubmissions.replaced;
    if (counted > again || counted < again - ofAudit)
      yield `${JSON.stringify(resubmissions)}, and ${again} submissions were no first ones`;
  },

  *'a block is full if the next transaction has no room'({ chain, behaviour }, { blocks, reorgs }) {
    if (reorgs.count > 0 || behaviour.lagMs !== undefined || blocks.firstNumber === null || behaviour.statesNoGas)
      return;
    const seen = Array.from({ length: blocks.count }, (_, i) => chain.blockAt(Number(blocks.firstNumber) + i)?.block);
    if (seen.includes(undefined) || blocks.count !== Number(blocks.lastNumber) - Number(blocks.firstNumber) + 1) return;
    const room = seen.map(({ gasLimit, gasUsed }) => 1 - Number(gasUsed) / Number(gasLimit));
    const [least, most] = [0.04, 0.5].map((share) => room.filter((one) => one < share).length);
    if (Number(blocks.full) < least || Number(blocks.full) > most)
      yield `${blocks.full} of ${blocks.count} blocks are full, by the chain ${least} to ${most}`;
  },

  *'the live rate is near the rate'({ live, configuration, config }, { end, rates }) {
    const { load } = config;
    const isUsual = (configuration.chain ?? 'usual') === 'usual' && (configuration.act ?? 'none') === 'none';
    const isSteady = load.stages === null && load.iterations === null && load.gasPerSecond === null;
    if (end !== 'duration' || !isUsual || !isSteady || config.load.maxBaseFeeWei !== null) return;
    const last = live.findLast(({ phase, tps }) => phase === 'load' && tps !== null);
    const rate = Number(rates.verifiedPerSecond);
    if (last !== undefined && rate > 1 && (Number(last.tps) < 0.4 * rate || Number(last.tps) > 2.5 * rate))
      yield `${last.tps} ${last.elapsedMs} ms after the start, and ${rate} in the window`;
  },

  *'refills are the payments of the funder'({ chain, loadStartUs, behaviour }, { refills, audit, end }) {
    if (refills === undefined || refills.transactions === null || audit === null || end === 'set_up_failed') return;
    const late = new Set(
      chain.submissions.filter(({ atUs, from }) => from === FUNDER && atUs >= loadStartUs).map(({ hash }) => hash),
    );
    const receipts = chain.receiptsOf(({ transactionHash }) => late.has(transactionHash));
    const gasWei = receipts.reduce((sum, one) => sum + BigInt(one.gasUsed) * BigInt(one.effectiveGasPrice), 0n);
    const isGasRight = refills.gasWei === null ? behaviour.hidesPrices : BigInt(refills.gasWei) === gasWei;
    if (refills.transactions !== receipts.length || !isGasRight)
      yield `${JSON.stringify(refills)}; the chain has ${receipts.length} payments of ${gasWei} wei gas`;
  },

  *'levels are those of the samples'(observed, run) {
    const { ladder } = run;
    // A block that leaves the chain takes its levels with it.
    if (!hasWindow(run) || ladder == null || run.reorgs.count > 0) return;
    const { fromUs, toUs } = windowOf(run);
    const due = rowsOf(observed).filter((row) => row.intended_at_us >= fromUs && row.intended_at_us <= toUs);
    for (const [level, column] of [
      ['accepted', 'accepted_at_us'],
      ['latest', 'block_seen_at_us'],
    ]) {
      const rung = ladder.rungs[/** @type {'accepted' | 'latest'} */ (level)];
      const reached = due.filter((row) => row.hashes.length > 0 && row.accepted_at_us !== null && row[column] !== null);
      if (rung == null) continue;
      const sumUs = sumOf(reached.map((row) => row[column] - row.intended_at_us));
      const [count, inUs] = [rung.reached, rung.latency.sumUs - rung.censored.sumUs];
      if (count !== reached.length || inUs !== sumUs)
        yield `${level}: ${count} reached in ${inUs} us, samples ${reached.length} in ${sumUs} us`;
    }
    for (const [level, rung] of Object.entries(ladder.rungs)) {
      if (rung === null) continue;
      const all = rung.reached + rung.notReached + rung.notMeasured;
      // Instants of the operation itself.
      if (rung.notMeasured > 0 && ['accepted', 'latest'].includes(level))
        yield `${level}: ${rung.notMeasured} not measured`;
      if (all > due.length) yield `${level}: ${all} of ${due.length} operations`;
    }
    if (!hasNoFault(observed.configuration)) return;
    const inBlocks = due
      .filter((row) => row.block_seen_at_us !== null && row.hashes.length > 0)
      .sort((a, b) => a.block_number - b.block_number);
    // The tags of this chain follow its newest block, which comes each second: the first blocks reach them.
    for (const [level, depth] of /** @type {const} */ ([
      ['safe', 3],
      ['finalized', 6],
    ])) {
      const { reached = 0, latency, censored } = ladder.rungs[level] ?? {};
      if (reached === 0 || latency === undefined || censored === undefined) continue;
      const first = inBlocks.slice(0, reached);
      const us =
        (latency.sumUs - censored.sumUs - sumOf(first.map((row) => row.block_seen_at_us - row.intended_at_us))) /
        reached;
      if (Math.abs(us / 1000 - 1000 * depth) > TAG_LATE_MS)
        yield `${level} comes ${us / 1000} ms after latest, on average`;
    }
  },

  *'what became of open operations is what the chain says'({ chain, samples, config }, { audit, end }) {
    if (audit?.exact !== true || end === 'set_up_failed' || config.workload.workload === 'rpc') return;
    const mined = new Set(
      chain
        .receiptsOf((_, block) => Number(block.number) <= audit.blockNumber)
        .map(({ transactionHash }) => transactionHash),
    );
    const late = samples.filter(({ outcome, hashes, hash }) => {
      return outcome !== 'verified' && hashes.concat(hash ?? []).some((one) => mined.has(one));
    });
    if (audit.includedLate > late.length)
      yield `${audit.includedLate} included late; the chain has ${late.length} of those that were not verified`;
    const fates = audit.resolutions.filter(({ fate }) => fate === 'included').length;
    if (audit.reorgedOut === 0 && audit.resolutions.length < 100 && fates !== audit.includedLate)
      yield `${audit.includedLate} included late, ${fates} resolutions say so`;
  },

  *'the set-up costs what the chain took'({ chain, loadStartUs }, { spending, end }) {
    if (end === 'set_up_failed' || loadStartUs === Infinity || spending.setUpWei === null) return;
    const early = new Set(chain.submissions.filter(({ atUs }) => atUs < loadStartUs).map(({ hash }) => hash));
    const wei = chain
      .receiptsOf(({ transactionHash }) => early.has(transactionHash))
      .reduce((sum, one) => sum + BigInt(one.gasUsed) * BigInt(one.effectiveGasPrice), 0n);
    if (BigInt(spending.setUpWei) !== wei) yield `setUpWei ${spending.setUpWei}, the chain has taken ${wei}`;
  },

  *'each thread has one event loop'(_, { intervals, generator }) {
    const gcUs = Number(IDLE_MACHINE.loop().sample()?.gcUs);
    for (const { probes } of intervals)
      if (probes?.loop != null && probes.loop.gcUs !== gcUs * generator.workers)
        yield `${probes.loop.gcUs} us of garbage collection in ${generator.workers} threads`;
  },

  *'times are within the run'({ config, endUs }, { generator, end }) {
    if (end === 'set_up_failed') return;
    const { threads, inFlight } = config.load;
    const ranMs = endUs / 1000;
    const pausedMs = { pausedMs: generator.pausedMs, ...generator.pauses, limitAnswers: 0 };
    for (const [name, ms] of Object.entries(pausedMs))
      if (ms < 0 || ms > ranMs * threads * inFlight) yield `${name} ${ms} in ${ranMs} ms of ${threads} wallets`;
    for (const { awayMs } of generator.endpoints)
      if (awayMs < 0 || awayMs > ranMs) yield `an endpoint was away for ${awayMs} of ${ranMs} ms`;
  },

  *'the checks have their share of the requests'({ config, configuration, loadStartUs, endUs }, run) {
    const { consistency, generator, end } = run;
    // Both sides of a comparison are requests of the load.
    if (consistency == null || end !== 'duration' || config.workload.checkRpc !== null) return;
    const others = sumOf(Object.values(generator.rpcCalls)) - (generator.rpcCalls.check ?? 0);
    const seconds = (endUs - loadStartUs) / 1e6;
    // Four requests a second beside the share, and a round that is under way.
    const most = CHECKS_PER_SECOND * seconds + config.network.checkShare * others + CHECKS_OF_A_ROUND * 2;
    if (consistency.requests > most) yield `${consistency.requests} requests; ${most} or less are their share`;
    if (!hasNoFault(configuration) || (generator.rpcCalls.submit ?? 0) < 20 || generator.workers > 1) return;
    // The checks hear of blocks, and not of plain calls.
    if (config.workload.mix.some(({ name }) => name === 'calls')) return;
    const least = 0.8 * (CHECKS_PER_SECOND * (run.window.durationMs / 1000) + config.network.checkShare * others);
    if (consistency.requests < least) yield `${consistency.requests} requests; ${least} or more are their share`;
    // Operations that wait for confirmations are in few of the blocks.
    const names = ['head', 'block', 'unknown', ...(config.network.confirmations === 0 ? ['index'] : [])];
    for (const name of names)
      if ((consistency.checks[name] ?? 0) === 0) yield `${name} was never checked: ${JSON.stringify(consistency)}`;
  },

  *'what was asked for is in the run file, and nothing else'({ config: { load, network, wallets } }, run) {
    if (run.end === 'set_up_failed') return;
    const asked = {
      ladder: network.ladder.length > 0 && run.environment.inclusion !== null,
      refills: wallets.refillBelowWei !== null,
      pace: load.poolTarget !== null || load.maxBaseFeeWei !== null,
      byStage: load.stages !== null,
    };
    for (const [name, isAsked] of Object.entries(asked)) {
      const part = /** @type {any} */ (run)[name] ?? null;
      if (isAsked !== (part !== null)) yield `${name}: ${isAsked ? 'missing' : 'not asked for'}`;
    }
  },

  *'a lack of funds is said'({ lines }, { failures, verdict, end }) {
    const isSaid = lines.some((line) => line.includes('had insufficient funds'));
    const isDue = (failures.insufficient_funds ?? 0) > 0 && verdict?.name !== 'funds';
    if (end !== 'set_up_failed' && isSaid !== isDue)
      yield `${JSON.stringify(failures)}: ${isSaid ? 'said' : 'not said'}`;
  },

  *'the pool target is what was asked for'({ config, configuration }, { pace, generator }) {
    const { poolTarget } = config.load;
    if (pace == null || poolTarget === null || /block/.test(poolTarget)) return;
    if (pace.poolTarget !== Number(poolTarget)) yield `${pace.poolTarget}, and --pool-target ${poolTarget}`;
    const most = Number(poolTarget) + generator.workers;
    if (pace.depth !== null && (configuration.chain ?? 'usual') === 'usual' && pace.depth.max > most)
      yield `${pace.depth.max} transactions were in the pool; at most ${most} should be`;
  },

  *'a hold is counted once'({ blocks, config, before, loadStartUs }, { pace, window, intervals, end }) {
    const limit = config.load.maxBaseFeeWei;
    if (limit === null || pace === undefined || end === 'set_up_failed' || window.durationMs === 0) return;
    const fromUs = loadStartUs + 1000 * (intervals.find(({ phase }) => phase === 'load')?.startMs ?? 0);
    const toUs = fromUs + 1000 * window.durationMs;
    let isHeld = BigInt(before.block.baseFeePerGas ?? 0) > limit;
    let holds = isHeld ? 1 : 0;
    for (const [i, { seenAtUs, baseFeeWei }] of blocks.entries()) {
      // Blocks of one instant: the last one tells.
      if (blocks[i + 1]?.seenAtUs === seenAtUs) continue;
      const isNow = (baseFeeWei ?? 0n) > limit;
      if (seenAtUs <= fromUs) holds = isNow ? 1 : 0;
      else if (seenAtUs < toUs && isNow && !isHeld) holds += 1;
      isHeld = isNow;
    }
    if (pace.pauses !== holds) yield `${pace.pauses} pauses, by the blocks ${holds}`;
  },
};

/**
 * What must work where nothing is planted that keeps it from working.
 * @type {Readonly<Record<string, Law>>}
 */
export const FAULTLESS = {
  *'without a fault everything is verified'({ configuration, config, stopsUs }, run) {
    const { counts, failures, generator, end } = run;
    const isFaultless = ['duration', 'iterations'].includes(end) && stopsUs.length === 0 && hasNoFault(configuration);
    if (!isFaultless) return;
    if (counts.failed + counts.timedOut + counts.abandoned > 0)
      yield `${JSON.stringify(counts)} ${JSON.stringify(failures)}`;
    const { retiredWallets, failedPolls, pausedMs, resubmissions } = generator;
    const troubles = { retiredWallets, failedPolls, pausedMs, ...resubmissions };
    if (Object.values(troubles).some((count) => count > 0)) yield JSON.stringify(troubles);
    const { inFlight, threads, ratePerSecond, stages, gasPerSecond, poolTarget, iterations, thinkTimeMs } = config.load;
    const { maxBaseFeeWei } = config.load;
    const isClosed = [ratePerSecond, stages, gasPerSecond, poolTarget, iterations, maxBaseFeeWei].every(
      (one) => one === null,
    );
    if (!isClosed || config.workload.workload === 'rpc') return;
    // A block each second, then its confirmations; the first operation waits for a part of one.
    const eachS = 1 + config.network.confirmations + thinkTimeMs / 1000 + 0.5;
    const least = Math.floor(run.window.durationMs / 1000 / eachS) * inFlight * threads;
    if (run.window.counts.started < least) yield `${run.window.counts.started} started; ${least} or more were possible`;
  },

  *'a wallet below the threshold is paid'({ chain, config, configuration, loadStartUs, blocks }, { refills, end }) {
    const { refillBelowWei } = config.wallets;
    if (refillBelowWei === null || end !== 'duration' || !hasNoFault({ ...configuration, funds: 'rich' })) return;
    // The first look that is followed by a block before the load ends.
    const [seen] = blocks.filter(({ seenAtUs }) => seenAtUs > loadStartUs + 3_000_000);
    if (seen === undefined || config.load.durationMs === null || config.load.durationMs < 6000) return;
    const { state } = chain.blockAt(seen.number);
    const senders = new Set(chain.submissions.map(({ from }) => from).filter((from) => from !== FUNDER));
    const poor = [...senders].filter((from) => chain.balanceIn(state, from) < refillBelowWei);
    // A funder that has too little pays nobody, and says so.
    const { fundAmountWei } = config.wallets;
    const neededWei = poor.reduce((sum, from) => sum + BigInt(fundAmountWei ?? 0) - chain.balanceIn(state, from), 0n);
    const withGasWei = 2n * neededWei;
    if (chain.balanceIn(state, FUNDER) < withGasWei) return;
    if (poor.length > 0 && (refills?.payments ?? 0) === 0)
      yield `${poor.length} wallets were below ${refillBelowWei} wei, and none was paid: ${JSON.stringify(refills)}`;
  },

  *'the CPU time of a node is that of its profiles'(observed, run) {
    const { nodeProfile, rates, window } = run;
    if (!nodeProfile) return;
    for (const { name, stacks, profiledMs, source, locks } of nodeProfile.filter((one) => one.stacks !== null)) {
      const waitUs = source.includes('/pprof/') ? (LOCK_WAIT_US_PER_SECOND * profiledMs) / 1000 : 0;
      if (Math.abs((locks?.waitUs ?? 0) - waitUs) > 1)
        yield `${name}: waited ${locks?.waitUs} us for locks, not ${waitUs}`;
      const { cpuUs, groups, packages = [] } = /** @type {NonNullable<typeof stacks>} */ (stacks);
      const usedUs = (NODE_CPU_US_PER_SECOND * profiledMs) / 1000;
      if (Math.abs(cpuUs - usedUs) > 1) yield `${name}: ${cpuUs} us in ${profiledMs} ms, not ${usedUs}`;
      const sum = groups.reduce((all, { selfUs }) => all + selfUs, 0);
      if (Math.abs(sum - cpuUs) > 1) yield `${name}: the groups have ${sum} us of ${cpuUs}`;
      const ofPackages = packages.reduce((all, { selfUs }) => all + selfUs, 0);
      if (Math.abs(ofPackages - cpuUs) > 1) yield `${name}: the packages have ${ofPackages} us of ${cpuUs}`;
      if (profiledMs > window.durationMs + 1) yield `${name}: ${profiledMs} ms of a window of ${window.durationMs}`;
    }
    const perOperationUs = shownFigure('node.cpu_per_op', run);
    const isKnown = nodeProfile.every(({ stacks }) => stacks !== null) && Boolean(rates.verifiedPerSecond);
    if ((perOperationUs !== null) !== isKnown) yield `node.cpu_per_op is ${perOperationUs}`;
    const perSecond = Number(perOperationUs) * Number(rates.verifiedPerSecond);
    if (isKnown && Math.abs(perSecond / (nodeProfile.length * NODE_CPU_US_PER_SECOND) - 1) > 1e-3)
      yield `${perOperationUs} us an operation and ${rates.verifiedPerSecond} per second are ${perSecond} us per second`;
    if (hasNoFault(observed.configuration) && run.end === 'duration' && nodeProfile[0].stacks === null)
      yield `no profile: ${JSON.stringify(nodeProfile[0].missing)}`;
  },

  *'metrics of the nodes are those of their time'({ config, chain, behaviour }, { intervals }) {
    const nodes = config.chain.nodeMetrics.map(({ name }) => name);
    for (const { probes } of nodes.length > 0 ? intervals : []) {
      /** @type {Partial<MetricsReading>} */
      const { series = {}, missing = {} } = probes.metrics ?? {};
      if (probes.metrics === null && behaviour.away === undefined && behaviour.silent === undefined)
        yield `no metrics: ${probes.why.metrics}`;
      for (const node of probes.metrics === null ? [] : nodes) {
        const head = series[`chain_head_block{node="${node}"}`] ?? null;
        if ((head === null) === (missing[String(node)] === undefined))
          yield `${node}: head ${head}, ${missing[String(node)]}`;
        if (Number(head) > Number(chain.head().block.number)) yield `${node} has block ${head}`;
      }
    }
  },

  *'an automatic warm-up ends with the first operations and blocks'({ blocks, config, loadStartUs, samples }, run) {
    const { load, workload } = config;
    const isSaid = run.warnings?.some((/** @type {string} */ words) => /warm-up/.test(words));
    if (load.warmupMs !== 'auto' || run.end !== 'duration' || !hasWindow(run) || isSaid) return;
    const startUs = loadStartUs + windowOf(run).fromUs;
    const ended = samples.filter(({ endedAtUs }) => endedAtUs <= startUs).length;
    const seen = blocks.filter(({ seenAtUs }) => seenAtUs > loadStartUs && seenAtUs <= startUs).length;
    if (ended === 0 || (workload.workload !== 'rpc' && seen < 2))
      yield `the window began after ${windowOf(run).fromUs / 1000} ms, ${ended} operations and ${seen} blocks`;
  },

  *'as many are in flight as a node takes of one sender'({ behaviour, config, configuration }, run) {
    const { senderLimit } = behaviour.chain ?? {};
    const { inFlight, threads } = config.load;
    if (senderLimit === undefined || inFlight <= senderLimit || run.end !== 'duration') return;
    const isPlain = ['load', 'maxBaseFee', 'fees', 'txTimeout', 'warmup'].every((name) => !(name in configuration));
    if (!isPlain || !hasNoFault({ ...configuration, chain: 'usual' })) return;
    if (config.workload.workload === 'rpc' || config.workload.mix.length > 0) return;
    // The first blocks tell what the node takes.
    const blocks = Math.max(0, run.blocks.count / (1 + config.network.confirmations) - 3);
    const least = 0.7 * senderLimit * threads * blocks;
    if (run.window.counts.verified < least) yield `${run.window.counts.verified} verified; ${least} were possible`;
  },

  *'a window in which nothing may start has a warning'(_, { pace, window, warnings, end }) {
    if (
      pace === undefined ||
      end !== 'duration' ||
      window.durationMs < 5000 ||
      pace.pausedMs < 0.99 * window.durationMs
    )
      return;
    if (!warnings.some((words) => words.includes('no operation is started'))) yield JSON.stringify(warnings);
  },

  *'gas that the chain does not state is unknown'({ behaviour }, run) {
    const { blocks, end } = run;
    if (behaviour.statesNoGas !== true || end === 'set_up_failed' || blocks.transactions === 0) return;
    for (const figure of ['chain.gas', 'fullness', 'fullness.p50', 'fullness.p90']) {
      const value = shownFigure(figure, run);
      if (value !== null) yield `${figure} is ${value}`;
    }
  },

  *'the gas of an operation is that of the chain'({ chain, loadStartUs, configuration }, { gasRate, intervals, end }) {
    if (gasRate === undefined || end !== 'duration' || !hasNoFault(configuration)) return;
    if (configuration.chain === 'no receipts of blocks') return;
    const fromUs = loadStartUs + 1000 * (intervals.find(({ phase }) => phase === 'load')?.startMs ?? 0);
    const own = new Set(chain.submissions.filter(({ atUs }) => atUs >= fromUs).map(({ hash }) => hash));
    const gas = chain.receiptsOf(({ transactionHash }) => own.has(transactionHash)).map((one) => Number(one.gasUsed));
    const mean = sumOf(gas) / gas.length;
    // By chance: a mix has operations of different gas.
    if (gas.length > 40 && Math.abs((gasRate.gasPerOperation ?? 0) - mean) > 0.06 * mean)
      yield `gasPerOperation ${gasRate.gasPerOperation}, ${mean} by ${gas.length} receipts`;
  },

  *'an audit that nothing disturbs is exact'({ stopsUs, behaviour, configuration }, { audit, end, failures }) {
    if (audit === null || end === 'set_up_failed' || stopsUs.length > 1 || behaviour.contradicts === true) return;
    // What such a node denies it takes with other bytes only, and what is behind it waits.
    if (behaviour.chain?.deniesForgotten) return;
    // What a full pool has refused, or blocks have left out, may be taken later.
    if (behaviour.chain?.poolLimit !== undefined || behaviour.chain?.takenAfter !== undefined || behaviour.isForeign)
      return;
    // Several transactions of a wallet that can pay for one of them wait for a payment.
    if (configuration.funds === 'little funds' || (failures.insufficient_funds ?? 0) > 0) return;
    if (audit.result !== 'exact') yield `${audit.result}: ${JSON.stringify(audit.incomplete)}`;
  },

  *'a wallet that is free is used'({ config, samples, configuration }, run) {
    const { ratePerSecond, stages, gasPerSecond, poolTarget, iterations, maxBaseFeeWei, inFlight, thinkTimeMs } =
      config.load;
    const isClosed = [ratePerSecond, stages, gasPerSecond, poolTarget, iterations, maxBaseFeeWei].every(
      (one) => one === null,
    );
    if (!isClosed || !hasWindow(run) || inFlight > 1 || config.workload.mix.length > 0 || !hasNoFault(configuration))
      return;
    /** @type {Map<number, number>} */
    const endsUs = new Map();
    for (const { walletIndex, startedAtUs, endedAtUs, outcome } of samples.toSorted(
      (a, b) => a.startedAtUs - b.startedAtUs,
    )) {
      const endUs = endsUs.get(walletIndex);
      const idleMs = endUs === undefined ? thinkTimeMs : (startedAtUs - endUs) / 1000;
      if (idleMs < thinkTimeMs - 1 || idleMs > thinkTimeMs + 100)
        yield `wallet ${walletIndex} was idle for ${idleMs} ms, --think-time ${thinkTimeMs} ms`;
      if (outcome === 'verified') endsUs.set(walletIndex, endedAtUs);
      else endsUs.delete(walletIndex);
    }
  },
};

/** Values with which a run may lose operations or time. @type {Readonly<Record<string, readonly string[]>>} */
const FAULTS = Object.freeze({
  workload: ['mix with calls that the node lacks', 'recorded calls'],
  funds: ['refills', 'refills below a low threshold'],
  maxBaseFee: ['low', 'below all'],
  storm: ['order', 'duplicates', 'replacements'],
  maxSpend: ['tight'],
  txTimeout: ['short'],
});
const HARMLESS = Object.freeze(['usual', 'no gas of blocks', 'no base fee', 'no receipts of blocks']);

/** @param {Observed['configuration']} configuration */
function hasNoFault({ chain = 'usual', ...configuration }) {
  return (
    HARMLESS.includes(chain) &&
    configuration.funds !== 'little funds' &&
    Object.entries(FAULTS).every(([name, values]) => !values.includes(configuration[name]))
  );
}

/** @param {Observed['samples']} samples @param {number} inFlight of one wallet @returns {Iterable<string>} */
function* seats(samples, inFlight) {
  /** @type {Map<number, Array<[atUs: number, step: number]>>} */
  const byWallet = new Map();
  for (const { walletIndex, startedAtUs, endedAtUs } of samples) {
    if (endedAtUs <= startedAtUs) continue;
    byWallet.set(walletIndex, [...(byWallet.get(walletIndex) ?? []), [startedAtUs, 1], [endedAtUs, -1]]);
  }
  for (const [wallet, steps] of byWallet) {
    // One ends before the next one begins.
    steps.sort(([a, x], [b, y]) => a - b || x - y);
    let [now, most] = [0, 0];
    for (const [, step] of steps) most = Math.max(most, (now += step));
    if (most > inFlight) yield `wallet ${wallet} had ${most} in flight, --in-flight ${inFlight}`;
  }
}
