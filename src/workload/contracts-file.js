import { readFileSync } from 'node:fs';
import { isAddress } from 'ethers';
import { InputError, displayName, oneLine, withoutKeys } from '../errors.js';
import { writeFileAtomically } from '../files.js';

/**
 * @import { Wallet } from '../chain/wallets.js'
 * @import { Chain } from './index.js'
 */

/**
 * The file of `--contracts`: which wallet owns which contract on which chain. A chain is known by its genesis
 * hash, because development chains share their chain ids and are wiped often.
 */

const SCHEMA = 'evm-stress/contracts@1';

/** @param {string} file @returns {{genesisHash: string | null, chainId: number, contracts: Record<string, string>} | null} */
function read(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw new InputError(
      `cannot read the contracts file ${displayName(file)}: ${oneLine(/** @type {Error} */ (error).message)}`,
    );
  }
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new InputError(
      `${displayName(file)} is not valid JSON: give --contracts a file that stress wrote, or a new name`,
    );
  }
  if (json?.schema !== SCHEMA || typeof json.contracts !== 'object' || json.contracts === null) {
    throw new InputError(
      `${displayName(file)} is no contracts file (schema ${SCHEMA}): give --contracts a file that stress wrote, or a new name`,
    );
  }
  const bad = Object.entries(json.contracts).find((pair) => !pair.every((address) => isAddress(address)));
  if (bad !== undefined)
    throw new InputError(
      `${displayName(file)}: the entry for ${oneLine(withoutKeys(bad[0]), 50)} is not a pair of addresses`,
    );
  return json;
}

/**
 * Finds out before anything is started whether a file can be used.
 * @param {string} file
 * @throws {InputError}
 */
export function checkContractsFile(file) {
  read(file);
}

/**
 * @param {string} file
 * @param {Chain} chain
 * @returns {Map<string, string>} contract by wallet; empty when there is no file yet, or it is of another chain
 * @throws {InputError}
 */
export function readContracts(file, { genesisHash }) {
  const json = read(file);
  return new Map(genesisHash !== null && json?.genesisHash === genesisHash ? Object.entries(json.contracts) : []);
}

/**
 * @param {string} file
 * @param {Chain} chain
 * @param {Map<string, string>} known contracts of other wallets on the same chain, which are kept
 * @param {Wallet[]} wallets
 * @param {string[]} addresses by position
 */
export async function writeContracts(file, { chainId, genesisHash }, known, wallets, addresses) {
  const contracts = {
    ...Object.fromEntries(known),
    ...Object.fromEntries(wallets.map(({ address }, i) => [address, addresses[i]])),
  };
  await writeFileAtomically(file, `${JSON.stringify({ schema: SCHEMA, chainId, genesisHash, contracts }, null, 2)}\n`);
}
