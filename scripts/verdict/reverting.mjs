export const contract = 'evm-stress/workload@1';

/** Deploys nothing; --set percent=54: so many of the transactions are reverted. @type {import('evm-stress/workload').Create} */
export default function create({ settings: { set } }) {
  const [stop, revert] = ['0x00', '0x60006000fd'].map((data) => ({ to: null, data, gasLimit: 80_000n }));
  return {
    kind: 'transaction',
    next: (position, nonce) => ((37 * position + 61 * nonce) % 100 < Number(set.percent) ? revert : stop),
  };
}
