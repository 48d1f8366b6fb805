import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { secretsOf } from '../../../src/chain/rpc.js';

const TOKEN = 'SuperSecretTokenOfALongPath';

describe('secretsOf()', () => {
  /** @type {Array<[string, string[]]>} URL, and its secrets in any order */
  const table = [
    ['http://127.0.0.1:8545', []],
    ['http://127.0.0.1:9650/ext/bc/C/rpc', []],
    [`https://example.org/key/${TOKEN}/x`, [TOKEN]],
    [`https://example.org/${TOKEN}%2F1`, [`${TOKEN}%2F1`, `${TOKEN}/1`]],
    ['https://name@example.org', ['name', 'name:', 'bmFtZTo=']],
    ['https://user:hunter2pass@example.org/', ['user:hunter2pass', 'hunter2pass', 'user', 'dXNlcjpodW50ZXIycGFzcw==']],
    ['https://me:p%40ss@example.org', ['p%40ss', 'p@ss', 'me:p@ss', 'bWU6cEBzcw==']],
    ['https://example.org/?apikey=s3cr3t&v=1', ['apikey=s3cr3t&v=1', 's3cr3t']],
    ['https://example.org/?s3cr3t', ['s3cr3t']],
    ['https://example.org/?a=b%zz=c', ['a=b%zz=c', 'b%zz=c']],
  ];
  for (const [url, expected] of table) {
    it(url, () => {
      const secrets = secretsOf(new URL(url));
      assert.deepEqual([...secrets].sort(), [...expected].sort());
      assert.deepEqual(
        secrets.map(({ length }) => length),
        secrets.map(({ length }) => length).sort((a, b) => b - a),
        'the longest first',
      );
    });
  }
});
