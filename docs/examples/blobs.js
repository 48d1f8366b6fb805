/**
 * Blobs (EIP-4844): each operation is a transaction of type 3, which carries one blob, or --set blobs=6. Blobs of random
 * data are proved before the load, and all operations use them. The chain must have the Cancun fork.
 *
 *     npm install kzg-wasm
 *     stress -t 50 -d 30s --workload docs/examples/blobs.js --set blobs=2
 */
export const contract = 'evm-stress/workload@1';

/** Sidecars that are proved. */
const COUNT = 3;

/** Has no code. */
const RECEIVER = '0x000000000000000000000000000000000000b10b';

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, settings, state }) {
  const blobs = Number(settings.set.blobs ?? 1);
  const callsOf = (sidecars) => sidecars.map((sidecar) => ({ to: RECEIVER, gasLimit: 21_000n, sidecar }));
  let sidecars = state?.sidecars ?? [];
  let calls = callsOf(sidecars);

  return {
    kind: 'transaction',
    subject: 'wallets sent blobs',
    gas: { perWallet: 0n, perOperation: 21_000n, blobs },
    valueWei: 0n,
    unprepared: async () => 0,

    async prepare() {
      sidecars = await kit.sidecars(COUNT, blobs);
      calls = callsOf(sidecars);
    },

    next: (position, nonce) => calls[nonce % COUNT],

    handOver: () => ({ sidecars }),
  };
}
