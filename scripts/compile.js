/**
 * Compiles contracts/*.sol and writes contracts/artifacts/*.json. Run it after changing a contract and
 * commit the result: the tool itself never loads solc on its main path.
 *
 * evmVersion is london, because later targets emit PUSH0, which older chains do not know.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const CONTRACTS = new URL('../contracts/', import.meta.url);

/** @returns {Record<string, string>} the text of each artifact, by its file name */
export function compile() {
  const solc = createRequire(import.meta.url)('solc');
  const names = readdirSync(CONTRACTS).filter((name) => name.endsWith('.sol'));
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      names.map((name) => [name, { content: readFileSync(new URL(name, CONTRACTS), 'utf8') }]),
    ),
    settings: {
      evmVersion: 'london',
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((/** @type {any} */ error) => error.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((/** @type {any} */ error) => error.formattedMessage).join('\n'));
  /** @type {Record<string, string>} */
  const artifacts = {};
  for (const [file, contracts] of Object.entries(output.contracts)) {
    for (const [contractName, contract] of Object.entries(/** @type {Record<string, any>} */ (contracts))) {
      const { bytecode, deployedBytecode } = contract.evm;
      artifacts[`${contractName}.json`] = `${JSON.stringify(
        {
          contractName,
          source: file,
          compiler: `solc ${solc.version()}`,
          evmVersion: input.settings.evmVersion,
          abi: contract.abi,
          bytecode: `0x${bytecode.object}`,
          deployedBytecode: `0x${deployedBytecode.object}`,
          immutables: Object.values(deployedBytecode.immutableReferences ?? {}).flat(),
        },
        null,
        2,
      )}\n`;
    }
  }
  return artifacts;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = new URL('artifacts/', CONTRACTS);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(compile())) {
    writeFileSync(new URL(name, folder), text);
    console.log(`contracts/artifacts/${name}`);
  }
}
