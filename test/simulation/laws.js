/**
 * What must hold of every run, whatever its options, the chain and the user did: the laws of a run file. The chain in memory is
 * the oracle. Each law yields what contradicts it.
 */
import { isDeepStrictEqual } from 'node:util';
import { keccak256 } from 'ethers/crypto';
import { INSTANCES_MAY_DIFFER_IN, OF_ONE_INSTANCE } from '../../src/cli/options.js';
import { EXIT } from '../../src/errors.js';
import { junitText } from '../../src/outputs/junit.js';
import { resultLine } from '../../src/outputs/json.js';
import { runMarkdown } from '../../src/outputs/markdown.js';
import { summaryText } from '../../src/outputs/summary.js';
import { mergeSources } from '../../src/scale-out/merge.js';
import { figureNames, shownFigure } from '../../src/stats/figures.js';
import { checkThresholds, parseThreshold } from '../../src/stats/thresholds.js';
import { assertRunFile, schemaErrors } from '../helpers/run-file.js';
import { FUNDER, SECRETS } from './features.js';
import { OF_EVIDENCE } from './evidence.js';
import { FAULTLESS, RECOMPUTED } from './recomputed.js';

/**
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Observed } from './run.js'
 *
 * @typedef {(observed: Observed, run: RunFile) => Iterable<string>} Law
 */

/** Until a request that was under way has reached the chain. */
const ON_THE_WAY_US = 60_000;

/** The end of the threads of observers, which is no part of that of the drain and the audit. */
const OF_OTHER_THREADS_MS = 8000;

/** A merge as `stress merge FILE` makes it. */
const ALONE = Object.freeze({
  ...{ expect: null, runId: null, allowPartial: false, thresholds: [] },
  options: { mayDiffer: INSTANCES_MAY_DIFFER_IN, ofOneInstance: OF_ONE_INSTANCE },
});

/** @param {RunFile} json plain data @returns {RunFile} */
export function mergedAlone(json) {
  const source = { name: 'run.json', isGiven: true, index: null, id: null, runId: null, read: () => ({ json }) };
  return mergeSources([source], ALONE, (file) => file).run;
}

/** With an instance that did the same with other wallets; the blocks are those of one of them, so that the gas of operations is not known. @param {RunFile} json plain data @returns {RunFile} */
export function mergedTwice(json) {
  const other = structuredClone(json);
  const ids = ['1', '2'].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);
  Object.assign(other, { id: ids[1], config: { ...other.config, offset: json.config.offset + json.config.threads } });
  const sources = [{ ...json, id: ids[0] }, other].map((one, i) => {
    return { name: `${i}.json`, isGiven: true, index: null, id: null, runId: null, read: () => ({ json: one }) };
  });
  return mergeSources(sources, ALONE, (file) => file).run;
}

/** Figures that two instances have twice. */
const ADDED = Object.freeze(
  'tps achieved asked attempted scheduled dropped started verified failed timed_out broken'.split(' '),
);
/** Figures that are the same for two equal instances as for one. */
const KEPT = Object.freeze(
  'avg min max p50 p99 start.p99 lag.p99 queued.p50 submit.p50 inclusion.p50 chain.gas fullness held'.split(' '),
);

/** Exit codes of runs that begin no load. @type {readonly number[]} */
const BEFORE_LOAD = Object.freeze([EXIT.usage, EXIT.badInput, EXIT.unavailable, EXIT.refused, EXIT.interrupted]);

/** What is asked of a run that has a load. @type {Readonly<Record<string, Law>>} */
const OF_RUNS = {
  *'the run file adds up'(_, run) {
    if (run.end === 'set_up_failed') return yield* schemaErrors(run);
    try {
      // Plain data, as a reader has it.
      assertRunFile(JSON.parse(JSON.stringify(run)));
    } catch (error) {
      yield /** @type {Error} */ (error).message.split('\n').slice(0, 6).join(' ');
    }
  },

  *'the end waits for a dead node no longer than its limit'(observed, { audit, end }) {
    const { behaviour, config, loadEndUs, endUs } = observed;
    if (!behaviour.isDeadAtTheEnd || loadEndUs === null || end === 'set_up_failed') return;
    const { drainTimeoutMs } = config.load;
    const mostMs = Math.max(drainTimeoutMs, 2 * config.network.requestTimeoutMs) + OF_OTHER_THREADS_MS;
    const waitedMs = (endUs - loadEndUs) / 1000;
    if (waitedMs > mostMs) yield `${waitedMs} ms, not ${mostMs}`;
    const [deadAtS = Infinity] = behaviour.away ?? [];
    const isDead = loadEndUs > observed.loadStartUs + deadAtS * 1e6;
    if (audit?.exact === true && isDead) yield 'an exact audit of a dead node';
  },

  *'operations are those of the chain'({ config, before, chain, loadStartUs, samples }, { audit, counts, end }) {
    if (loadStartUs === Infinity || config.workload.workload === 'rpc') return;
    const ended = { verified: 0, failed: 0, timed_out: 0, abandoned: 0 };
    for (const { outcome } of samples) ended[outcome] += 1;
    const told = [counts.verified, counts.failed, counts.timedOut, counts.abandoned];
    if (!isDeepStrictEqual(Object.values(ended), told)) yield `samples ${Object.values(ended)}, counts ${told}`;
    if (audit === null || end === 'set_up_failed') return;
    const foreign = chain.receiptsOf(
      ({ transactionHash, from }) => chain.foreign.has(transactionHash) && from !== FUNDER,
    );
    const known = new Set(audit.foreign.map(({ hash }) => hash));
    const unnamed = foreign.filter(
      (one) => Number(one.blockNumber) <= audit.blockNumber && !known.has(one.transactionHash),
    );
    if (unnamed.length > 0) yield `another sender used ${unnamed[0].from}: not in the audit`;
    if (foreign.length > 0) return;
    if (audit.result === 'not_exact')
      yield `not exact: ${JSON.stringify(audit.mismatches)} ${JSON.stringify(audit.foreign)}`;
    if (!audit.exact) return;
    const { state } = chain.blockAt(audit.blockNumber);
    const wallets = ownAddresses(chain);
    const executed = [...state.nonces].reduce((sum, [from, nonce]) => {
      return wallets.has(from) ? sum + nonce - (before.state.nonces.get(from) ?? 0) : sum;
    }, 0);
    const own = audit.verified + audit.includedLate - audit.reorgedOut + audit.reverted;
    if (executed !== own) yield `the chain has executed ${executed}, the audit says ${own}`;
  },

  *'an operation that was verified is in the chain'({ samples, chain }, { audit }) {
    if (audit?.exact !== true || audit.reorgedOut > 0) return;
    const mined = new Set(chain.receiptsOf().map(({ transactionHash }) => transactionHash));
    for (const { outcome, hash, blockNumber } of samples)
      if (outcome === 'verified' && blockNumber !== null && !mined.has(hash ?? ''))
        yield `${hash} of block ${blockNumber}`;
  },

  *'a merge of one run has its figures'(_, run) {
    const json = JSON.parse(JSON.stringify(run));
    const merged = mergedAlone(json);
    for (const name of figureNames()) {
      const [own, sum] = [json, merged].map((one) => shownFigure(name, one));
      // A merge adds counts of rows, and has the CPU time of the window by its share.
      if (own === null || sum === null ? own !== sum : Math.abs(own - sum) > 1e-3 + 1e-3 * Math.abs(own))
        yield `${name} is ${own}, and ${sum} merged`;
    }
    // The start of the window is written in whole milliseconds.
    const share = 1 / json.window.durationMs;
    const differ = (/** @type {any} */ a, /** @type {any} */ b) => a !== b && !(Math.abs(a - b) <= share * Math.abs(a));
    for (const [name, rate] of Object.entries(json.rates))
      if (differ(rate, /** @type {any} */ (merged.rates)[name]))
        yield `${name} is ${rate}, and ${/** @type {any} */ (merged.rates)[name]} merged`;
    for (const [name, count] of Object.entries(json.window.counts))
      if (count !== /** @type {any} */ (merged.window.counts)[name])
        yield `${name} of the window is ${count}, and ${/** @type {any} */ (merged.window.counts)[name]} merged`;
  },

  *'a merge of two equal instances has twice the counts, and the same latency'(_, run) {
    const json = JSON.parse(JSON.stringify(run));
    const merged = mergedTwice(json);
    for (const [names, times] of /** @type {const} */ ([
      [ADDED, 2],
      [KEPT, 1],
    ]))
      for (const name of names) {
        const [own, sum] = [json, merged].map((one) => shownFigure(name, one));
        const isSame =
          own === null || sum === null ? own === sum : Math.abs(times * own - sum) <= 1e-3 + 2e-3 * Math.abs(sum);
        if (!isSame) yield `${name} is ${own}, and ${sum} of two`;
      }
  },

  *'spending is what the balances lost'({ chain, config }, { spending, audit, end }) {
    if (audit === null || end === 'set_up_failed') return;
    // What the funder pays for its payments counts too.
    const senders = new Set(chain.submissions.map(({ from }) => from));
    const fees = chain
      .receiptsOf((receipt, block) => senders.has(receipt.from) && Number(block.number) <= audit.blockNumber)
      .filter(({ transactionHash }) => !chain.foreign.has(transactionHash))
      .reduce((sum, { gasUsed, effectiveGasPrice }) => sum + BigInt(gasUsed) * BigInt(effectiveGasPrice), 0n);
    const cap = config.wallets.maxSpendWei;
    if (cap !== null && fees > cap) yield `fees ${fees} of ${cap} (--max-spend)`;
    if (spending.spentWei !== null && BigInt(spending.spentWei) !== fees)
      yield `spentWei ${spending.spentWei}, the chain has taken ${fees}`;
  },

  *'nothing is signed after the load but what recovery needs'(
    { behaviour, chain, loadStartUs, requests, samples },
    run,
  ) {
    if (loadStartUs === Infinity) return;
    const started = new Map(samples.map((sample) => [`${addressOf(sample, chain)}:${sample.nonce}`, sample]));
    const load = run.intervals.filter(({ phase }) => phase !== 'drain');
    const endUs = loadStartUs + 1000 * Math.max(0, ...load.map(({ endMs }) => endMs));
    const lastUs = endUs + onTheWayUs(behaviour);
    for (const { hash, from, nonce, atUs } of chain.submissions.filter((one) => one.atUs > lastUs))
      if (
        !started.has(`${from}:${nonce}`) &&
        !isFirstSeenBefore(chain, from, nonce, lastUs) &&
        !isSentBefore(requests, hash, lastUs - loadStartUs)
      )
        yield `${from}:${nonce} ${(atUs - endUs) / 1000} ms after the load`;
  },

  *'nothing starts after a stop that came before the load'({ behaviour, stopsUs, loadStartUs, chain }, { counts }) {
    const [stopUs = Infinity] = stopsUs;
    if (stopUs > loadStartUs) return;
    if (counts.started > 0) yield `${counts.started} operations`;
    const late = chain.submissions.filter(({ atUs }) => atUs > stopUs + onTheWayUs(behaviour));
    if (late.length > 0)
      yield `${late.length} transactions were sent, the last one ${(late[late.length - 1].atUs - stopUs) / 1000} ms after it`;
  },

  *'null has a reason'(_, run) {
    // assertRunFile() asks the other nulls.
    for (const [pointer, why] of Object.entries(run.unmeasured)) {
      if (typeof why !== 'string' || why === '') yield `${pointer} has no words`;
      const value = pointer
        .slice(1)
        .split('/')
        .reduce((/** @type {any} */ one, key) => one?.[key], run);
      const isNull = value === null || value === undefined || (typeof value === 'object' && hasNull(value));
      if (!isNull) yield `${pointer} is ${JSON.stringify(value)}: ${why}`;
    }
  },

  *'texts have words and figures'({ text, lines }, run) {
    const texts = [text, ...lines, ...textsOf(run)];
    for (const one of texts) {
      // Not within the base64 text of a histogram.
      const [wrong] = /(?<![\w+/])(NaN|undefined|Infinity|\[object Object\])(?![\w+/]).*/.exec(one) ?? [];
      if (wrong !== undefined) yield `${one.slice(Math.max(0, one.indexOf(wrong) - 60)).slice(0, 160)}`;
    }
  },

  *'a secret is in no output'({ text, lines, partials, evidenceText, config }, run) {
    const files = [evidenceText, ...[run, ...partials].map((file) => JSON.stringify(file))];
    const all = [text, ...lines, ...textsOf(run), ...files];
    for (const secret of SECRETS) if (all.some((one) => one.includes(secret))) yield secret;
    // Evidence has no text of the user or of a node: no URL, path or command line.
    const places = [...config.chain.rpc.map(({ host }) => host), config.outputs.evidence, '--rpc', '://'];
    for (const place of places) if (place !== null && evidenceText.includes(place)) yield `${place} in the evidence`;
  },

  *'a partial file is a run file'({ partials }) {
    for (const file of partials.slice(0, 2)) yield* schemaErrors(file).slice(0, 3);
  },

  *'the time that was held is that of the blocks'(
    { blocks, config, before, loadStartUs },
    { pace, window, intervals, end },
  ) {
    const limit = config.load.maxBaseFeeWei;
    if (limit === null || pace === undefined || end === 'set_up_failed' || window.durationMs === 0) return;
    const fromUs = loadStartUs + 1000 * (intervals.find(({ phase }) => phase === 'load')?.startMs ?? 0);
    const toUs = fromUs + 1000 * window.durationMs;
    const first = BigInt(before.block.baseFeePerGas ?? 0);
    const marks = [
      { atUs: loadStartUs, isHeld: first > limit },
      ...blocks.map(({ seenAtUs, baseFeeWei }) => ({ atUs: seenAtUs, isHeld: (baseFeeWei ?? 0n) > limit })),
    ];
    let heldUs = 0;
    marks.forEach(({ atUs, isHeld }, i) => {
      const untilUs = marks[i + 1]?.atUs ?? toUs;
      if (isHeld) heldUs += Math.max(0, Math.min(toUs, untilUs) - Math.max(fromUs, atUs));
    });
    if (Math.abs(pace.pausedMs - heldUs / 1000) > 5) yield `pausedMs ${pace.pausedMs}, by the blocks ${heldUs / 1000}`;
  },

  *'what was asked for is the schedule over the time that was not held'(
    { config },
    { rates, pace, window, generator, end },
  ) {
    const { ratePerSecond, arrival } = config.load;
    if (ratePerSecond === null || arrival === 'poisson' || end === 'set_up_failed') return;
    const seconds = (window.durationMs - (pace?.pausedMs ?? 0)) / 1000;
    // An operation is due at both ends, on each side of a mix and in each thread.
    const margin = 1 + 2 * generator.workers;
    const expected = ratePerSecond * seconds;
    if (Math.abs(window.counts.scheduled - expected) > margin)
      yield `${window.counts.scheduled} were due in ${seconds} s at ${ratePerSecond} per second`;
    if (rates.askedPerSecond !== null && Math.abs(rates.askedPerSecond - ratePerSecond) * seconds > margin)
      yield `asked ${rates.askedPerSecond}, --rate ${ratePerSecond}`;
  },

  *'a threshold on an unknown figure fails'(_, run) {
    const plain = JSON.parse(JSON.stringify(run));
    const [least, most] = ['>=0', '<=1e15'].map((limit) =>
      figureNames().flatMap((name) => {
        try {
          return [parseThreshold(`${name}${limit}`)];
        } catch {
          return [];
        }
      }),
    );
    for (const result of checkThresholds([...least, ...most], plain))
      if (result.value === null && result.passed) yield `${result.expression} passed: ${result.why}`;
  },

  *'calls by name are the calls'(_, run) {
    const names = Object.keys(run.byName);
    if (names.length === 0) return;
    for (const outcome of /** @type {const} */ (['verified', 'failed', 'timedOut', 'abandoned'])) {
      const sum = names.reduce((all, name) => all + run.byName[name].counts[outcome], 0);
      if (sum !== run.counts[outcome] && (run.environment.workload.calls ?? null) === null)
        yield `${outcome}: ${sum} by name, ${run.counts[outcome]} in all`;
    }
    const isCalls = run.config.workload === 'rpc';
    if (!isCalls) return;
    const failed = shownFigure('failed', run);
    const byName = names.map((name) => shownFigure(`calls.${name}.failed`, run));
    const sum = byName.reduce((all, one) => Number(all) + Number(one), 0);
    if (failed !== null && byName.every((one) => one !== null) && sum !== failed)
      yield `failed ${failed}, by name ${byName}`;
  },

  *'a verdict names a cause that was there'({ behaviour, blocks, config, configuration }, { verdict, end }) {
    if (verdict === null || end === 'set_up_failed') return;
    const possible = new Set(['unknown', ...behaviour.causes, ...causesOf(config, blocks)]);
    if (configuration.funds === 'little funds') possible.add('funds');
    // Another sender takes nonces: submissions wait until their own ones are looked up.
    if (behaviour.isForeign) possible.add('refused');
    // Of transactions that wait for their answers: others wait for something else as well.
    if (isAlone(configuration)) for (const name of behaviour.isNoCause ?? []) possible.delete(name);
    if (!possible.has(verdict.name)) yield `${verdict.name}: ${verdict.evidence}`;
  },

  *'a load whose wallets were all busy has a verdict'({ config }, { verdict, end, intervals, window, rates }) {
    const load = intervals.filter(({ phase }) => phase === 'load');
    const isBusy = load.length > 0 && load.every(({ inFlight }) => inFlight >= Number(config.load.threads));
    if (end !== 'duration' || window.durationMs === 0 || rates.askedPerSecond !== null || !isBusy) return;
    if (verdict === null) yield `${load.length} intervals with ${load.map(({ inFlight }) => inFlight)} in flight`;
  },

  *'no difference is found between nodes of one chain'(_, { failures, failureWords }) {
    if ((failures.answers_differ ?? 0) > 0) yield `${failures.answers_differ}: ${JSON.stringify(failureWords)}`;
  },

  *'what a node has a moment later is compared'({ behaviour, config, stopsUs }, { failures, end }) {
    const isLate = behaviour.lagMs !== undefined && config.workload.checkRpc !== null;
    if (!isLate || end !== 'duration' || stopsUs.length > 0) return;
    if ((failures.check_unavailable ?? 0) > 0) yield `${failures.check_unavailable} were not compared`;
  },

  *'a comparison that could not be made is no equal one'({ config }, run) {
    if (config.workload.checkRpc === null) return;
    // What began before the window counts neither as equal nor as different.
    const rows = run.intervals.filter(({ phase }) => phase !== 'warmup').map(({ failures }) => failures);
    // In a mix other codes may be those of transactions.
    const isOpen = (/** @type {string} */ code) =>
      config.workload.mix.length === 0 ? code !== 'answers_differ' : /check|compare|reference/.test(code);
    const open = rows.flatMap(Object.entries).filter(([code]) => isOpen(code));
    const [result] = checkThresholds([parseThreshold('differences=0')], run);
    if (open.some(([, count]) => count > 0) && result.passed) yield `differences=0 passed with ${JSON.stringify(open)}`;
  },

  *'no consistency violation is found on one chain'({ behaviour }, { consistency }) {
    const found = Object.entries(consistency?.violations ?? {});
    // What a node has announced and then replaced is no contradiction, but a reorg is none of its answers.
    if (found.length > 0 && behaviour.contradicts !== true)
      yield JSON.stringify(found.map(([code, { examples }]) => [code, examples[0]?.words]));
  },

  *'a check that ended has a reason'({ config, blocks, configuration }, { consistency, end }) {
    if (!config.network.check.length || consistency == null || configuration.endpoints !== 'web socket') return;
    const heads = consistency.checks.subscription ?? 0;
    const reasons = JSON.stringify(consistency);
    if (end === 'duration' && heads < 0.7 * blocks.length - 1 && !/subscription":"/.test(reasons))
      yield `${heads} heads of ${blocks.length} blocks were checked`;
  },

  *'a finality level is the instant of its event'({ blocks, samples, config }, { ladder, end }) {
    const latest = ladder?.rungs.latest;
    if (latest == null || end === 'set_up_failed' || config.network.confirmations === 0) return;
    const seenUs = new Map(blocks.map(({ number, seenAtUs }) => [number, seenAtUs]));
    const waits = samples.flatMap(({ intendedAtUs, blockNumber }) => {
      const atUs = seenUs.get(blockNumber ?? -1);
      return atUs === undefined ? [] : [atUs - intendedAtUs];
    });
    const longestUs = Math.max(0, ...waits);
    const most = longestUs + 500_000;
    if (waits.length > 0 && Number(latest.latency.minUs ?? 0) > most && latest.reached > 0)
      yield `latest takes ${latest.latency.minUs} us or more; with confirmations ${longestUs}`;
  },

  *'replacements that were asked for are accounted for'({ config, samples }, { generator, end }) {
    const { replaceShare } = config.load;
    if (replaceShare === null || end !== 'duration' || generator.storm === undefined) return;
    const accepted = samples.filter(({ acceptedAtUs, hash }) => acceptedAtUs !== null && hash !== null).length;
    const storm = /** @type {Record<string, number>} */ (/** @type {unknown} */ (generator.storm));
    const made = storm.replacements + storm.replacementsRefused + storm.replacementsTooDear + storm.replacementsTooLate;
    if (accepted > 20 && made < 0.3 * replaceShare * accepted)
      yield `${made} of ${accepted} operations with a share of ${replaceShare}`;
  },

  *'a limit is learned of a node that has it, and refusals have words'({ behaviour }, { generator }) {
    const { refusals = {}, nodeLimits = {} } = generator;
    const { poolLimit, silentPoolLimit, senderLimit } = behaviour.chain ?? {};
    if (nodeLimits.perWallet !== undefined && senderLimit === undefined) yield `per wallet: ${nodeLimits.perWallet}`;
    if (nodeLimits.pool !== undefined && (poolLimit ?? silentPoolLimit) === undefined) yield `pool: ${nodeLimits.pool}`;
    for (const [name, { count, words }] of Object.entries(refusals))
      if (count < 1 || words === '') yield `${name}: ${count} ${words}`;
  },

  *'what comes next is to bring the endpoint up only if it was down at the end'({ text }, { generator }) {
    const outages = generator.outages ?? [];
    const isBack = outages.length > 0 && outages.every(({ toMs }) => toMs !== undefined);
    if (isBack && text.includes('bring the endpoint up')) yield JSON.stringify(outages);
  },

  *'what the audit calls pending is known to the chain'({ chain }, { audit }) {
    for (const { fate, hash } of audit?.resolutions ?? [])
      if (fate === 'pending' && !chain.has(hash ?? '')) yield `${hash}`;
  },

  *'refills keep wallets alive'({ behaviour, config }, { failures, refills, verdict }) {
    const { refillBelowWei } = config.wallets;
    const { threads, inFlight } = config.load;
    if (refillBelowWei === null) return;
    // The fastest waves of the base fee come between two looks at the balances.
    if (verdict?.name === 'funds' && !behaviour.causes.includes('funds'))
      yield `${verdict.evidence}; ${JSON.stringify(refills)}`;
    // A price may rise within the 5 s between two looks at the balances: a wallet then fails once, and waits.
    if (behaviour.causes.includes('funds')) return;
    if ((failures.insufficient_funds ?? 0) > threads * inFlight)
      yield `${failures.insufficient_funds} failed for funds`;
  },

  *'the number of threads is that of the run'({ threads }, { generator, end }) {
    if (end === 'set_up_failed') return;
    const workers = threads.filter((name) => name === 'worker-thread.js').length;
    if (generator.workers !== Math.max(1, workers))
      yield `generator.workers ${generator.workers}, ${workers} worker threads`;
  },

  *'the live rate is the rate'({ live, config }, { end }) {
    const { ratePerSecond, durationMs } = config.load;
    if (ratePerSecond === null || end !== 'duration' || Number(durationMs) < 600_000) return;
    const late = live
      .filter(({ phase, elapsedMs }) => phase === 'load' && elapsedMs > 60_000)
      .map(({ tps }) => Number(tps));
    const [least, most] = [Math.min(...late), Math.max(...late)];
    if (late.length > 0 && (least < 0.8 * ratePerSecond || most > 1.2 * ratePerSecond))
      yield `${least} to ${most} of ${ratePerSecond}`;
  },
};

/** What is asked of every run, also of one that was refused. @type {Readonly<Record<string, (observed: Observed) => Iterable<string>>>} */
const OF_ALL = {
  *'stress has no bug of its own'({ code, lines, error }) {
    if (code === EXIT.internal) yield lines.slice(-3).join(' | ').slice(0, 400);
    if (error instanceof Error && /** @type {any} */ (error).exitCode === undefined)
      yield String(error.stack).slice(0, 300);
  },

  *'Node.js has no warning'({ nodeWarnings }) {
    yield* nodeWarnings;
  },

  *'nothing is sent by a run that is refused'({ code, chain, loadStartUs, stopsUs, run }) {
    const isRefused = code === EXIT.usage || code === EXIT.badInput;
    const lacks =
      code === EXIT.unavailable &&
      stopsUs.length === 0 &&
      /lacks|does not exist|no method/.test(JSON.stringify(run?.warnings ?? []));
    if ((isRefused || lacks) && loadStartUs === Infinity && chain.submissions.length > 0)
      yield `${chain.submissions.length} transactions, then exit ${code}`;
  },

  *'a run without a load has a reason'({ code, loadStartUs, lines }) {
    if (loadStartUs === Infinity && !BEFORE_LOAD.includes(code)) yield `exit ${code}: ${lines.at(-1)}`;
  },

  *'the exit code is that of the run file'({ code, run }) {
    if (run !== null && run.exitCode !== null && run.exitCode !== code) yield `exit ${code}, run file ${run.exitCode}`;
  },
};

/** @param {Observed} observed @returns {Array<{law: string, words: string}>} violations */
export function violationsIn(observed) {
  const { run } = observed;
  /** @type {Array<[string, () => Iterable<string>]>} */
  const laws = Object.entries(OF_ALL).map(([law, ask]) => [law, () => ask(observed)]);
  if (run !== null)
    for (const [law, ask] of Object.entries({ ...OF_RUNS, ...OF_EVIDENCE, ...RECOMPUTED, ...FAULTLESS }))
      laws.push([law, () => ask(observed, run)]);
  return laws.flatMap(([law, ask]) => [...ask()].slice(0, 3).map((words) => ({ law, words })));
}

export const LAWS = Object.freeze([
  ...Object.keys(OF_ALL),
  ...Object.keys(OF_RUNS),
  ...Object.keys(OF_EVIDENCE),
  ...Object.keys(RECOMPUTED),
  ...Object.keys(FAULTLESS),
]);

/** @param {RunFile} run @returns {string[]} what outputs make of it */
function textsOf(run) {
  const plain = JSON.parse(JSON.stringify(run));
  const all = [summaryText(plain, true), resultLine(plain), junitText(plain), runMarkdown(plain)];
  return all.flatMap((one) => one ?? []);
}

/** @param {any} value @returns {boolean} */
function hasNull(value) {
  if (value === null) return true;
  return typeof value === 'object' && Object.values(value).some(hasNull);
}

/** Whether only the chain differs from the defaults. @param {Observed['configuration']} configuration */
function isAlone(configuration) {
  return Object.keys(configuration).every((feature) => feature === 'chain');
}

/** Verdicts that are true of a load on every chain. @param {Observed['config']} config @param {Observed['blocks']} blocks */
function causesOf({ load, wallets }, blocks) {
  const { maxFeeWei } = wallets;
  const tooDear = blocks.filter(({ baseFeeWei }) => maxFeeWei !== null && (baseFeeWei ?? 0n) > maxFeeWei).length;
  const isAsked = load.ratePerSecond !== null || load.gasPerSecond !== null || load.stages !== null;
  return [
    'concurrency-bound',
    ...(isAsked || load.thinkTimeMs > 0 || load.poolTarget !== null || load.maxBaseFeeWei !== null
      ? ['rate-bound']
      : []),
    ...(tooDear > 0 && 3 * tooDear >= blocks.length ? ['fee-limit'] : []),
    ...(wallets.refillBelowWei === null && wallets.fundFrom !== null ? ['funds'] : []),
  ];
}

/** Senders, but for the funder, whose payments are no operations. @param {Observed['chain']} chain @returns {Set<string>} */
function ownAddresses(chain) {
  return new Set(chain.submissions.map(({ from }) => from).filter((from) => from !== FUNDER));
}

/** @param {Observed['samples'][number]} sample @param {Observed['chain']} chain */
function addressOf({ hash, hashes }, chain) {
  return chain.submissions.find((one) => one.hash === hash || hashes.includes(one.hash))?.from;
}

/** Until a submission that was under way has reached the chain. @param {Observed['behaviour']} behaviour */
function onTheWayUs({ takesMs = () => 0, arrivesAfterMs = 0 }) {
  return ON_THE_WAY_US + 1000 * (takesMs({ method: 'eth_sendRawTransaction' }) + arrivesAfterMs);
}

/** A submission that the node refused is on no chain. @param {Observed['requests']} requests @param {string} hash @param {number} untilUs after the load began */
function isSentBefore(requests, hash, untilUs) {
  return requests.some((request) => {
    const [, atUs, raw] = /^(\d+) \d+ eth_sendRawTransaction \["(0x\w+)"\]$/.exec(request) ?? [];
    return raw !== undefined && Number(atUs) <= untilUs && keccak256(raw) === hash;
  });
}

/** @param {Observed['chain']} chain @param {string} from @param {number} nonce @param {number} untilUs */
function isFirstSeenBefore(chain, from, nonce, untilUs) {
  return chain.submissions.some((one) => one.from === from && one.nonce === nonce && one.atUs <= untilUs);
}
