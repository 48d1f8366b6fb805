/** The types are moved here from where they are now. */
export type { OutputStream } from '../outputs/streams.js';
export type { Screen, StatusLine } from '../outputs/terminal.js';
export type { OutputConfig, Totals, OutputOptions, Output, LiveFigures, Address } from '../types.d.ts';
