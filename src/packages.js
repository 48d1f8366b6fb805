import { createRequire } from 'node:module';

/**
 * Packages that are loaded at their first use: together they take a tenth of the CPU time of a short run, and most runs
 * need neither.
 *
 * @import * as Undici from 'undici'
 * @import * as Ws from 'ws'
 */

const require = createRequire(import.meta.url);

/** @type {() => typeof Undici} */
export const undici = () => require('undici');

/** @type {() => typeof Ws} */
export const ws = () => require('ws');
