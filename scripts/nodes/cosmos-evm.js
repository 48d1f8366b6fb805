/** A Cosmos EVM node with one validator on loopback, for tests: `startCosmosEvm`. CometBFT makes its blocks. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/chain/devchain.js';
import { DEV_MNEMONIC } from '../../src/chain/keys.js';
import { UnavailableError } from '../../src/errors.js';
import { FUNDER_KEY } from './anvil.js';
import { call, ensureBuilt, startNode } from './build.js';

const VERSION = 'v0.3.2';

/** Replacements hold in the main module only. Without the newer sonic, a Go from 1.25 on does not compile it. */
export const EVMD = {
  name: 'cosmos-evm',
  module: 'github.com/cosmos/evm/cmd/evmd',
  version: VERSION,
  goMod: `
    require (
      github.com/cosmos/evm ${VERSION}
      github.com/bytedance/sonic v1.15.5
    )
    replace (
      github.com/99designs/keyring => github.com/cosmos/keyring v1.2.0
      github.com/cockroachdb/pebble => github.com/cockroachdb/pebble v0.0.0-20230928194634-aa077af62593
      github.com/ethereum/go-ethereum => github.com/cosmos/go-ethereum v1.15.11-cosmos-0
      github.com/gin-gonic/gin => github.com/gin-gonic/gin v1.9.1
      github.com/syndtr/goleveldb => github.com/syndtr/goleveldb v1.0.1-0.20210819022825-2ae1ddf74ef7
    )`,
};
/** Of the wallets: the funder is none of them. */
const MNEMONIC = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const READY_TIMEOUT_MS = 60_000;
const FIRST_BLOCK_TRIES = 100;
const FIRST_BLOCK_POLL_MS = 200;

/** Its name on the Cosmos side; the number of the EVM chain is in the code of evmd. */
const CHAIN_ID = '9001';
const DENOM = 'atest';
const [SUPPLY, STAKE] = [`1${'0'.repeat(27)}${DENOM}`, `1${'0'.repeat(21)}${DENOM}`];

/** A block a second. */
export async function startCosmosEvm() {
  const binary = await ensureBuilt(EVMD);
  // It connects to its own CometBFT, so that has to have a port, too.
  const [port, wsPort, cometPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const url = `http://127.0.0.1:${port}`;
  const node = await startNode({
    name: 'cosmos-evm',
    binary,
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    args: (folder) => {
      createGenesis(binary, folder);
      return [
        ...['start', '--home', folder, '--chain-id', CHAIN_ID, '--minimum-gas-prices', `0${DENOM}`],
        ...['--log_level', 'error', '--rpc.laddr', `tcp://127.0.0.1:${cometPort}`, '--p2p.laddr', 'tcp://127.0.0.1:0'],
        ...['--rpc.pprof_laddr', '', '--grpc.enable=false'],
        ...['--json-rpc.enable', '--json-rpc.api', 'eth,txpool,net,web3'],
        ...['--json-rpc.address', `127.0.0.1:${port}`, '--json-rpc.ws-address', `127.0.0.1:${wsPort}`],
      ];
    },
    findUrl: () => url,
  });
  // Before its first block it answers nothing but eth_chainId.
  for (let tries = 0; !(await call(url, 'eth_blockNumber').catch(() => false)); tries += 1) {
    await sleep(FIRST_BLOCK_POLL_MS);
    if (tries < FIRST_BLOCK_TRIES) continue;
    await node.stop();
    throw new UnavailableError('cosmos-evm makes no block');
  }
  return { ...node, wsUrl: `ws://127.0.0.1:${wsPort}`, mnemonic: MNEMONIC };
}

/** The first account of the development mnemonic has all funds, and is the validator. @param {string} binary @param {string} home */
function createGenesis(binary, home) {
  const evmd = (/** @type {string} */ words, input = '') =>
    execFileSync(binary, [...words.split(' '), '--home', home], { input, stdio: ['pipe', 'ignore', 'pipe'] });
  evmd(`config set client chain-id ${CHAIN_ID}`);
  evmd('config set client keyring-backend test');
  evmd(`init node --chain-id ${CHAIN_ID} --default-denom ${DENOM}`);
  evmd('config set config consensus.timeout_commit 1s --skip-validate');
  evmd('keys add dev --recover --key-type eth_secp256k1 --keyring-backend test', `${DEV_MNEMONIC}\n`);

  const file = join(home, 'config', 'genesis.json');
  const genesis = JSON.parse(readFileSync(file, 'utf8'));
  genesis.app_state.evm.params.evm_denom = DENOM;
  const units = [
    { denom: DENOM, exponent: 0, aliases: [] },
    { denom: 'test', exponent: 18, aliases: [] },
  ];
  const words = { name: 'test', symbol: 'TEST', description: '', uri: '', uri_hash: '' };
  genesis.app_state.bank.denom_metadata = [{ base: DENOM, display: 'test', denom_units: units, ...words }];
  writeFileSync(file, JSON.stringify(genesis));

  evmd(`genesis add-genesis-account dev ${SUPPLY} --keyring-backend test`);
  evmd(`genesis gentx dev ${STAKE} --gas-prices 10000000${DENOM} --keyring-backend test --chain-id ${CHAIN_ID}`);
  evmd('genesis collect-gentxs');
}
