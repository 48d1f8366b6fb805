/**
 * @import { Scheduler } from '../cli/instance.js'
 * @import { StudyConfig } from '../cli/study-config.js'
 * @import { Threshold } from '../stats/thresholds.js'
 * @import { FailIf } from '../studies/compare-text.js'
 * @import { Spread } from './endpoints.js'
 * @import { Arrival, RateStage } from './pacer.js'
 */

/**
 * What was asked for on the command line, in the environment and in a file, as one object.
 *
 * @typedef {object} Config everything a command needs, checked and frozen by src/cli/config.js
 * @property {number} threads
 * @property {number} offset of the first wallet of this instance
 * @property {number} firstOffset of the first wallet of all instances, as -o gives it
 * @property {readonly URL[]} rpc endpoints of one chain; none for an embedded one
 * @property {Spread} spread of the load over several of them
 * @property {number | null} chainId
 * @property {number | null} allowChain
 * @property {string | null} keys
 * @property {string | null} mnemonic
 * @property {string} hdPath
 * @property {string | null} fundFrom
 * @property {bigint | null} fundAmountWei
 * @property {bigint | null} maxSpendWei most that may be spent on fees
 * @property {string | null} to
 * @property {number | null} durationMs
 * @property {number | 'auto'} warmupMs
 * @property {number | null} iterations of each wallet
 * @property {number} thinkTimeMs
 * @property {number | null} ratePerSecond of this instance; null for a closed loop, or stages
 * @property {RateStage[] | null} stages
 * @property {Arrival | null} arrival of an open loop
 * @property {number} inFlight most operations of one wallet at once
 * @property {number} intervalMs
 * @property {number} drainTimeoutMs
 * @property {number} txTimeoutMs
 * @property {number} requestTimeoutMs
 * @property {string} workload name, or a file of the user's own
 * @property {ReadonlyArray<readonly [string, string]>} set settings of the latter
 * @property {string} inclusion
 * @property {number} confirmations
 * @property {string} transport
 * @property {number} connections
 * @property {boolean} noKeepAlive
 * @property {boolean} insecure
 * @property {number | 'auto'} workers
 * @property {string | null} method of --workload rpc
 * @property {unknown[] | null} params of --workload rpc
 * @property {string | null} calls of --workload rpc: name of a preset or of a file
 * @property {string | null} data name of the file that says where prepared logs are
 * @property {URL | null} checkRpc second endpoint that answers are held against
 * @property {number | null} users another word for threads
 * @property {number | null} fixedId of --workload rpc
 * @property {string | null} contracts
 * @property {number | null} payload bytes of calldata
 * @property {number | null} receivers of --workload transfer; null: its wallets pay each other
 * @property {'before' | 'during' | null} createReceivers when they come to be on the chain
 * @property {boolean} legacy
 * @property {bigint | null} gasPriceWei
 * @property {bigint | null} maxFeeWei
 * @property {string | null} out
 * @property {Threshold[]} thresholds
 * @property {string | null} junit
 * @property {string | null} samples
 * @property {string | null} blocks
 * @property {string | null} hlog
 * @property {{host: string, port: number} | null} prometheus
 * @property {number | null} nodePid
 * @property {URL | null} nodeMetrics
 * @property {string[] | null} nodeSeries
 * @property {number | null} port
 * @property {number | null} logCount of stress prepare
 * @property {number} logBytes
 * @property {number} pageSize
 * @property {boolean} verbose
 * @property {number | null} index of this instance; null where it is the only one, or knows of no others
 * @property {number | null} instances that the run has
 * @property {number} attempt how often this index was started before
 * @property {string | null} runId
 * @property {Scheduler | null} scheduler that numbered the instances; null: the user did
 * @property {number | null} startAtMs when the load of all instances begins, since 1970
 * @property {string | null} barrier folder where instances wait for each other
 * @property {number} startTimeoutMs
 * @property {string | null} results folder for the run file
 * @property {number | null} expect instances of a merge
 * @property {boolean} allowPartial
 * @property {boolean} quiet
 * @property {boolean} explain
 * @property {string} logLevel
 * @property {string | null} logFile
 * @property {readonly string[]} files that a command reads
 * @property {string | null} html
 * @property {{host: string, port: number} | null} dashboard
 * @property {number | null} repeat how often each setting of a study runs
 * @property {number} restMs
 * @property {string | null} beforeCell
 * @property {string | null} dir of a study
 * @property {string | null} preset
 * @property {string | null} find the option that is searched for
 * @property {Threshold[]} until
 * @property {readonly string[]} candidates run files of the other side
 * @property {URL | null} rpcA
 * @property {URL | null} rpcB
 * @property {string} metric that decides a comparison
 * @property {FailIf[]} failIf
 * @property {boolean} allowDifferent
 * @property {string | null} over
 * @property {StudyConfig} study
 * @property {Record<string, unknown>} redacted as the run file states it
 */
export {};
