import { readFileSync } from 'node:fs';
import { RefusedError } from '../errors.js';
import { displayUrl } from './rpc.js';

/** Known networks, and the check that the endpoint's chain is the one that the user means. */

/** Chain ids of development chains only: hardhat and anvil, geth --dev, AvalancheGo's local network. */
export const DEV_CHAIN_IDS = new Set([31337, 1337, 43112]);

/** Chain ids on which the public test mnemonic is the default, on loopback endpoints. */
const DEV_MNEMONIC_CHAIN_IDS = new Set([31337, 1337]);

/** Networks whose coins have a value: names by chain id, from scripts/make-networks.js. @type {ReadonlyMap<number, string>} */
export const PUBLIC_MAINNETS = new Map(JSON.parse(readFileSync(new URL('mainnets.json', import.meta.url), 'utf8')));

/** @param {URL} url */
export function isLoopback(url) {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether the public test mnemonic may be the default. @param {URL} url @param {number} chainId */
export function devMnemonicAllowed(url, chainId) {
  return isLoopback(url) && DEV_MNEMONIC_CHAIN_IDS.has(chainId);
}

/** A chain on this machine, or a known development chain; a public mainnet is none. @param {readonly URL[]} urls @param {number} chainId */
export function isLocalChain(urls, chainId) {
  return !PUBLIC_MAINNETS.has(chainId) && (DEV_CHAIN_IDS.has(chainId) || urls.every(isLoopback));
}

/**
 * Called before anything is signed.
 * @param {URL} url
 * @param {number} chainId the answer of eth_chainId
 * @param {number | null} expectedChainId --chain-id
 * @param {number | null} allowedChainId --allow-chain
 * @throws {RefusedError} unless the user has clearly chosen this chain
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
