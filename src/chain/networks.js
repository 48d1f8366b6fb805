import { readFileSync } from 'node:fs';
import { RefusedError } from '../errors.js';
import { displayUrl } from './rpc.js';

/** Chain ids that only development chains use: hardhat and anvil, geth --dev, AvalancheGo's local network. */
export const DEV_CHAIN_IDS = new Set([31337, 1337, 43112]);

/** Chain ids on which the publicly known test mnemonic is the default, if the endpoint is on loopback. */
const DEV_MNEMONIC_CHAIN_IDS = new Set([31337, 1337]);

/**
 * Public networks whose coins are worth money, by chain id: made by scripts/make-networks.js.
 * @type {ReadonlyMap<number, string>}
 */
export const PUBLIC_MAINNETS = new Map(JSON.parse(readFileSync(new URL('mainnets.json', import.meta.url), 'utf8')));

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
