/**
 * Writes src/chain/mainnets.json: id and name of every public network whose coins are worth money, from the chains that
 * viem maintains. Run it after an update of viem (npm run networks) and commit the result: stress itself never loads viem.
 */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { DEV_CHAIN_IDS, isLoopback } from '../src/chain/networks.js';

const FILE = new URL('../src/chain/mainnets.json', import.meta.url);

/**
 * A chain is a public mainnet unless viem marks it as a testnet, or its default endpoint is on the user's own machine.
 * Where several chains share an id, one mainnet among them is enough: a refusal too many costs an option.
 * @returns {string} the text of the file
 */
export function mainnetsText() {
  /** @type {Array<{id: number, name: string, testnet?: boolean, rpcUrls: {default: {http: string[]}}}>} */
  const chains = Object.values(createRequire(import.meta.url)('viem/chains'));
  const mainnets = chains.filter(
    ({ id, testnet, rpcUrls }) =>
      testnet !== true && !DEV_CHAIN_IDS.has(id) && !rpcUrls.default.http.every((url) => isLoopback(new URL(url))),
  );
  // Of several names the first stays.
  const names = new Map(mainnets.reverse().map(({ id, name }) => [id, name]));
  const lines = [...names]
    .sort(([a], [b]) => a - b)
    .map((row) => `  [${row.map((cell) => JSON.stringify(cell)).join(', ')}]`);
  return `[\n${lines.join(',\n')}\n]\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(FILE, mainnetsText());
