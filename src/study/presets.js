/**
 * Sweeps with a name: options, as they would be given, that stand where nothing else was given.
 *
 * @typedef {object} Preset
 * @property {Record<string, string>} options by name
 * @property {readonly string[]} [derived] names of options that the sweep works out itself
 * @property {boolean} [isPerConnection] whether each connection is asked for the rate
 */

/** @type {Record<string, Preset>} */
export const presets = Object.freeze({
  flare: {
    // Sockets wait for a minute after their connection; those of one run are not to be counted in the next.
    options: { threads: '10,40,100,200,500,1000', 'no-keep-alive': 'false,true', duration: '60s', rest: '61s' },
  },
  cometbft: {
    options: { connections: '1,2,4', rate: '25,50,100,200', duration: '90s', payload: '1024' },
    derived: ['threads'],
    isPerConnection: true,
  },
  stellar: { options: { rate: '100..250/10', threads: '200', repeat: '2', duration: '1000s' } },
});
