/** A development chain of Erigon on loopback, for tests: `startErigon`. */
import { freePort } from '../../src/chain/devchain.js';
import { ensureBuilt, startNode } from './build.js';

/** No tag: the tags of Erigon 3 are no versions of its module, whose path has no /v3. */
const VERSION = 'v1.9.7-0.20250627051334-b48bd312b712';
const COMMIT = VERSION.slice('v1.9.7-0.'.length);

/**
 * Its replacements, which hold in the main module only; two of its folders are modules of their own. The checksum
 * database may not know two modules: their hashes are those of Erigon's own go.sum, and of github.com/gfx-labs/ssz.
 */
export const ERIGON = {
  name: 'erigon',
  module: 'github.com/erigontech/erigon/cmd/erigon',
  version: VERSION,
  tags: 'nosilkworm,noboltdb',
  goMod: `
    go 1.24
    require github.com/erigontech/erigon ${VERSION}
    replace (
      github.com/crate-crypto/go-kzg-4844 => github.com/erigontech/go-kzg-4844 v0.0.0-20250130131058-ce13be60bc86
      github.com/erigontech/erigon-db => github.com/erigontech/erigon/erigon-db v0.0.0-${COMMIT}
      github.com/erigontech/erigon-lib => github.com/erigontech/erigon/erigon-lib v0.0.0-${COMMIT}
      github.com/holiman/bloomfilter/v2 => github.com/AskAlexSharov/bloomfilter/v2 v2.0.9
    )`,
  goSum: `
github.com/erigontech/erigon-snapshot v1.3.1-0.20250619025539-884f4110f6af h1:GCtT79xiFnf2QR2cjXUgg83L18UH2N2eSAa61tkiM0M=
github.com/erigontech/erigon-snapshot v1.3.1-0.20250619025539-884f4110f6af/go.mod h1:ooHlCl+eEYzebiPu+FP6Q6SpPUeMADn8Jxabv3IKb9M=
github.com/erigontech/erigon/erigon-db v0.0.0-${COMMIT} h1:/N4CTmDeZ1bL8vQnD6YL83yqsfxTv+UjI9JEeI9tfZw=
github.com/erigontech/erigon/erigon-db v0.0.0-${COMMIT}/go.mod h1:K9Q2Ce+PJH1lE6F/o8XPz2gzOBL/ZgKsY9IW+AdVWgI=`,
};

/** The key of the account that has the funds, and seals the blocks. It is in Erigon's source: no secret. */
const FUNDER_KEY = '0x26e86e45f6fc45ec6e2ecd128cec80fa1d1505e5507dcd2ae58c3130a7a97b48';
const READY_TIMEOUT_MS = 60_000;

/** A block whenever a transaction waits: with --dev.period Erigon 3.1 makes 65 blocks, and then no more. */
export async function startErigon() {
  const binary = await ensureBuilt(ERIGON);
  const [port, wsPort, enginePort, peerPort, torrentPort] = await Promise.all([1, 2, 3, 4, 5].map(() => freePort()));
  const url = `http://127.0.0.1:${port}`;
  const node = await startNode({
    name: 'erigon',
    binary,
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    args: (folder) => [
      ...['--chain', 'dev', '--mine', '--datadir', folder, '--log.console.verbosity', 'warn', '--log.dir.disable'],
      ...['--no-downloader', '--torrent.port', `${torrentPort}`, '--nat', 'none', '--private.api.addr', ''],
      ...['--http.addr', '127.0.0.1', '--http.port', `${port}`, '--http.api', 'eth,net,web3,txpool'],
      ...['--ws', '--ws.port', `${wsPort}`, '--port', `${peerPort}`, '--p2p.protocol', '68', '--maxpeers', '0'],
      ...['--authrpc.addr', '127.0.0.1', '--authrpc.port', `${enginePort}`],
    ],
    findUrl: () => url,
  });
  return { ...node, wsUrl: `ws://127.0.0.1:${wsPort}` };
}
