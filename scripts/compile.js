/**
 * Compiles contracts/*.sol and writes contracts/artifacts/*.json. Run it after changing a contract and commit the result:
 * the program itself compiles only workloads of users.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileAll } from '../src/workloads/solidity.js';

const CONTRACTS = new URL('../contracts/', import.meta.url);

/** @returns {Promise<Record<string, string>>} the text of each artifact, by its file name */
export async function makeArtifacts() {
  const files = readdirSync(CONTRACTS).filter((name) => name.endsWith('.sol'));
  const sources = Object.fromEntries(files.map((name) => [name, readFileSync(new URL(name, CONTRACTS), 'utf8')]));
  const compiled = Object.values(await compileAll(sources, 'contracts')).flatMap(Object.entries);
  return Object.fromEntries(compiled.map(([name, artifact]) => [`${name}.json`, `${JSON.stringify(artifact)}\n`]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of Object.entries(await makeArtifacts())) {
    writeFileSync(new URL(`artifacts/${name}`, CONTRACTS), text);
    console.log(`contracts/artifacts/${name}`);
  }
}
