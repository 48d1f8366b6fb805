/**
 * What a run was asked to do, by the names of the options: from its run file, which knows them as keys with units.
 *
 * @param {{config: Record<string, unknown>}} run
 * @returns {Record<string, unknown>}
 */
export function settingsOf({ config }) {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [optionName(key), value]));
}

/** @param {string} key such as ratePerSecond */
function optionName(key) {
  return key.replace(/(PerSecond|Ms|Wei)$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * How two runs may differ and still have been asked for the same: who paid, where it went, what was written and shown.
 * Any other option shapes the load or the measurement, also one that does not exist yet.
 */
export const MAY_DIFFER = Object.freeze(
  new Set([
    ...['command', 'config', 'rpc', 'rpc-a', 'rpc-b', 'chain-id', 'allow-chain', 'insecure', 'offset'],
    ...['keys', 'mnemonic', 'hd-path', 'fund-from', 'fund-amount', 'max-spend', 'contracts', 'users', 'data'],
    ...['legacy', 'gas-price', 'max-fee', 'drain-timeout', 'interval', 'node-pid', 'node-metrics', 'node-series'],
    ...['out', 'html', 'dashboard', 'samples', 'blocks', 'hlog', 'prometheus', 'junit', 'thresholds', 'threshold'],
    ...['verbose', 'explain', 'quiet', 'log-level', 'log-file'],
    ...['index', 'instances', 'attempt', 'run-id', 'start-at', 'barrier', 'start-timeout', 'results'],
    // The length of the window is compared itself.
    'duration',
  ]),
);
