/** What each figure means, in one sentence. It goes into the run file, and `--explain` prints it. */
export const DEFINITIONS = Object.freeze({
  window:
    'The measured part of the run: from the first operation to the moment no new ones were started. Set-up and drain are outside.',
  attempts: 'Operations started.',
  verified:
    'Operations whose transaction was included in a block and whose effect was read back as of that block and found right.',
  failed: 'Operations that ended with an error; each has a code.',
  timedOut: 'Operations that were not verified within --tx-timeout.',
  abandoned: 'Operations still open when the drain ended.',
  tps: 'Verified operations per second of the window: those whose effect was read back inside it.',
  latency:
    'From the moment an operation was due to the moment its effect was read back, on one monotonic clock. It covers operations due inside the window, those that ended in the drain included; one that timed out counts with the time it was waited for; failed and abandoned ones do not count.',
  stages:
    'Latency of verified operations in four parts that add up to it: queued (due to written to the socket; signing is in it), submit (to the hash read back), inclusion (to the block seen), read-back (to the effect read back).',
  percentiles:
    'From an HDR histogram with three significant digits; count, sum, sum of squares, minimum and maximum are exact.',
  cpuUsPerVerified: 'CPU time of this process over the window, divided by the operations verified in the window.',
  audit:
    'Exact when for every wallet counter = start + verified + included late, nonce = start + our included transactions, and nothing is pending, all read at one block.',
});
