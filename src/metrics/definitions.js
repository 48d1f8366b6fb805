/** What each figure means, in one sentence. It goes into the run file, and `--explain` prints it. */
export const DEFINITIONS = Object.freeze({
  window:
    'The measured part of the run: from the first operation, or the end of --warmup, to the moment no new ones were started. Set-up, warm-up and drain are outside. Every rate is a count inside it, divided by its length.',
  attempts: 'Operations started.',
  verified:
    'Operations whose transaction was included in a block and whose effect was read back as of that block and found right.',
  failed: 'Operations that ended with an error; each has a code.',
  timedOut: 'Operations that were not verified within --tx-timeout.',
  abandoned: 'Operations still open when the drain ended.',
  dropped:
    'Operations that were due by the schedule of --rate or --stages and not started, because no wallet was idle: they are never started later.',
  tps: 'Verified operations per second of the window: those whose effect was read back inside it.',
  rates:
    'Per second of the window: asked (due by the schedule), attempted (started), accepted, included and verified (by when that happened), and achieved: operations due inside the window that were verified, those that ended in the drain included.',
  latency:
    'From the moment an operation was due to the moment its effect was read back, on one monotonic clock. It covers operations due inside the window, those that ended in the drain included. Operations without a good answer in time (timed out, lost, abandoned, calls that timed out) are censored: they count with the time they were waited for, and a figure that they may make larger is printed with >=. Other failed ones do not count.',
  fromStart:
    'The same from the moment an operation was really begun: it leaves out how late the generator was, so it is no measure of what users wait for.',
  lag: 'From the moment an operation was due to the moment it was begun, or found to have no idle wallet and dropped.',
  stages:
    'Latency of verified operations in parts that add up to it: queued (due to written to the socket; signing is in it), submit (to the hash read back; with --inclusion sync to the receipt, once a block has it), inclusion (to the block seen, with --confirmations to the last of those on top), with --spread apart visibility (to the block seen at the endpoint that the effect is read from), read-back (to the effect read back).',
  resubmissions:
    'Transactions that were sent again: the same bytes because no answer came or the node was busy (repeated), or because they were accepted and in no block, or in one that left the chain (rebroadcast; lost: those that the node did not know any more), or with a higher fee (replaced). One operation is one sample, however often it was sent.',
  reorgs:
    'Blocks that were read and then left the chain. A sample is never changed: operations that do not get into a block again are subtracted in the audit, as reorged out.',
  percentiles:
    'From an HDR histogram with three significant digits; count, sum, sum of squares, minimum and maximum are exact.',
  skew: 'Time of day when a block was first read, less its timestamp, which has whole seconds. It is in no latency.',
  cpuUsPerVerified: 'CPU time of this process over the window, divided by the operations verified in the window.',
  verdict:
    'What limited the run: endpoint-down (no answer), funds (wallets without), port-bound (no local ports left), endpoint-limited (429, Retry-After), generator-bound (this process), rate-bound (less was asked for than can be done), node-bound (full blocks, a busy node, transactions or latency that pile up), concurrency-bound (all that the wallets could ask for was done); unknown where no explanation excludes the others.',
  audit:
    'Exact when for every wallet the effects of its operations (its counter, or its transactions that were not reverted) = start + verified + included late - reorged out, nonce = start + our included transactions, nothing is pending, and what else the workload has to compare agrees, all read at one block. Not exact when something is proven to disagree; incomplete when nothing is, but not everything could be checked.',
});
