/** What a command is given: its options, and what a run takes from the process. No other contract imports this one. */
import type { ChainConfig, NetworkConfig, WalletConfig } from './chain.d.ts';
import type { Log, Stop } from './common.d.ts';
import type { BeforeLoad, InstanceConfig, LoadConfig, Platform, WorkloadConfig } from './load.d.ts';
import type { Output, OutputConfig } from './output.d.ts';
import type { StudyConfig } from './study.d.ts';
import type * as Own from './workload.d.ts';

/** All options of a command, by what they are for. The run file has them in one object. */
export type Config = Readonly<{
  load: LoadConfig;
  wallets: WalletConfig;
  chain: ChainConfig;
  network: NetworkConfig;
  workload: WorkloadConfig;
  outputs: OutputConfig;
  study: StudyConfig;
  instance: InstanceConfig;
}>;

export type RunContext = Platform & {
  log: Log;
  outputs: Output[];
  onProgress: (label: string, done: number, all: number) => void;
  stop: Stop;
  version: string;
  /** factory of a workload object of the library */
  create?: Own.Create;
  beforeLoad?: BeforeLoad;
};
