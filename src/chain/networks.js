import { RefusedError } from '../errors.js';
import { displayUrl } from './endpoint-url.js';

/** Chain ids that only development chains use: hardhat and anvil, geth --dev, AvalancheGo's local network. */
export const DEV_CHAIN_IDS = new Set([31337, 1337, 43112]);

/** Chain ids on which the publicly known test mnemonic is the default, if the endpoint is on loopback. */
const DEV_MNEMONIC_CHAIN_IDS = new Set([31337, 1337]);

/** Public networks whose coins are worth money, by chain id (EIP-155; names as on chainlist.org). */
export const PUBLIC_MAINNETS = new Map([
  [1, 'Ethereum'],
  [10, 'OP Mainnet'],
  [14, 'Flare'],
  [19, 'Songbird'],
  [25, 'Cronos'],
  [30, 'Rootstock'],
  [40, 'Telos'],
  [50, 'XDC'],
  [56, 'BNB Smart Chain'],
  [61, 'Ethereum Classic'],
  [66, 'OKXChain'],
  [100, 'Gnosis'],
  [122, 'Fuse'],
  [128, 'Heco'],
  [130, 'Unichain'],
  [137, 'Polygon'],
  [146, 'Sonic'],
  [169, 'Manta Pacific'],
  [204, 'opBNB'],
  [250, 'Fantom'],
  [252, 'Fraxtal'],
  [288, 'Boba'],
  [321, 'KCC'],
  [324, 'zkSync Era'],
  [369, 'PulseChain'],
  [480, 'World Chain'],
  [999, 'HyperEVM'],
  [1088, 'Metis'],
  [1101, 'Polygon zkEVM'],
  [1116, 'Core'],
  [1135, 'Lisk'],
  [1284, 'Moonbeam'],
  [1285, 'Moonriver'],
  [1329, 'Sei'],
  [1868, 'Soneium'],
  [2020, 'Ronin'],
  [2222, 'Kava'],
  [5000, 'Mantle'],
  [7000, 'ZetaChain'],
  [7700, 'Canto'],
  [8217, 'Kaia'],
  [8453, 'Base'],
  [34443, 'Mode'],
  [42161, 'Arbitrum One'],
  [42170, 'Arbitrum Nova'],
  [42220, 'Celo'],
  [43114, 'Avalanche'],
  [57073, 'Ink'],
  [59144, 'Linea'],
  [80094, 'Berachain'],
  [81457, 'Blast'],
  [534352, 'Scroll'],
  [7777777, 'Zora'],
  [1313161554, 'Aurora'],
  [1666600000, 'Harmony'],
]);

/** @param {URL} url */
export function isLoopback(url) {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Whether wallets of the publicly known test mnemonic may be used without being asked for.
 * @param {URL} url
 * @param {number} chainId
 */
export function devMnemonicAllowed(url, chainId) {
  return isLoopback(url) && DEV_MNEMONIC_CHAIN_IDS.has(chainId);
}

/**
 * Refuses a chain that the user did not clearly point us at. Called before anything is signed.
 * @param {URL} url
 * @param {number} chainId what the endpoint says
 * @param {number | null} expectedChainId --chain-id
 * @param {number | null} allowedChainId --allow-chain
 * @throws {RefusedError}
 */
export function checkChain(url, chainId, expectedChainId, allowedChainId) {
  if (expectedChainId !== null && expectedChainId !== chainId) {
    throw new RefusedError(`${displayUrl(url)} is chain ${chainId}, not ${expectedChainId} as --chain-id says`);
  }
  const mainnet = PUBLIC_MAINNETS.get(chainId);
  if (mainnet !== undefined && allowedChainId !== chainId) {
    throw new RefusedError(
      `chain ${chainId} is ${mainnet}, a public network whose coins are worth money: if you mean it, say --allow-chain ${chainId}`,
    );
  }
  if (expectedChainId === null && !isLoopback(url) && !DEV_CHAIN_IDS.has(chainId)) {
    throw new RefusedError(
      `chain ${chainId} is neither on this machine nor a known development chain: if you mean it, say --chain-id ${chainId}`,
    );
  }
}
