/** The types are moved here from where they are now. */
export type * from '../workloads/contract.d.ts';
