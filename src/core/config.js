/**
 * @import { FailIf, RateStage, Scheduler, StudyConfig, Threshold } from '../types.d.ts'
 * @import { Spread } from './endpoints.js'
 * @import { Arrival } from './pacer.js'
 */

/** What was asked for on the command line, in the environment and in a file, as one object. */
export {};
