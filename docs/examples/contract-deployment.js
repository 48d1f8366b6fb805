/**
 * Deployments: each operation puts a contract on the chain, and is verified by the code that is there afterwards.
 *
 *     stress -t 50 -d 30s --workload docs/examples/contract-deployment.js --set kilobytes=4
 */
export const contract = 'evm-stress/workload@1';

/** The largest code that a contract may have is 24,576 bytes (EIP-170). */
const MOST_KILOBYTES = 24;

/** Init code that returns what stands behind it, which becomes the code of the contract. */
function initCode(code) {
  const length = (code.length / 2).toString(16).padStart(4, '0');
  // PUSH2 length, DUP1, PUSH1 12 (where the code begins), PUSH1 0, CODECOPY, PUSH1 0, RETURN
  return `0x61${length}80600c6000396000f3${code}`;
}

/** @type {import('evm-stress/workload').Create} */
export default function create({ kit, rpc, settings }) {
  const kilobytes = Number(settings.set.kilobytes ?? 1);
  if (!(kilobytes > 0 && kilobytes <= MOST_KILOBYTES))
    throw new Error(`--set kilobytes must be more than 0 and at most ${MOST_KILOBYTES}`);
  const code = kit.tag.padStart(Math.round(kilobytes * 1024) * 2, '00'); // 00 is STOP
  const deployment = { to: null, data: initCode(code) };

  return {
    kind: 'transaction',
    subject: 'wallets deployed',
    gas: { perWallet: 0n, perOperation: 60_000n + BigInt(code.length / 2) * 220n },

    next: () => deployment,

    async verify(position, _executed, { number }, _attempt, { nonce }) {
      const target = kit.createAddress(kit.addresses()[position], nonce);
      const found = await rpc.gather('eth_getCode', [target, `0x${number.toString(16)}`], 'readback');
      return { state: found === `0x${code}` ? 'ok' : 'missing', effect: `${code.length / 2} bytes`, target };
    },

    // No audit(): it counts the wallet's transactions, less those that were reverted.
  };
}
