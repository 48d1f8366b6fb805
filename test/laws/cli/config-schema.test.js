/** docs/config.schema.json is generated from the table of options. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Ajv2020 from 'ajv/dist/2020.js';
import { ROOT } from '../../helpers/cli.js';
import { temporaryFile } from '../../helpers/temporary.js';
import { readCommand } from './read.js';

const FILE = join(ROOT, 'docs/config.schema.json');
const check = new Ajv2020.default({ allowUnionTypes: true }).compile(JSON.parse(readFileSync(FILE, 'utf8')));

describe('docs/config.schema.json', () => {
  it('is up to date', () => {
    const script = join(ROOT, 'scripts/make-config-schema.js');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });

  it('takes what the program takes, and the file may name it', async (t) => {
    const config = { $schema: FILE, threads: 5, duration: '3s', threshold: ['p99<2s', 'tps>1'], legacy: true };
    assert.ok(check(config), JSON.stringify(check.errors));
    const file = temporaryFile(t, 'config.json', config);
    const { load, study, wallets } = (await readCommand(['--config', file])).config;
    const { threads, durationMs, thresholds, legacy } = { ...load, ...study, ...wallets };
    assert.deepEqual([threads, durationMs, thresholds.length, legacy], [5, 3000, 2, true]);
  });

  it('knows no other option, and the choices of those it knows', () => {
    for (const wrong of [{ thread: 5 }, { transport: 'udp' }, { legacy: 5 }]) assert.ok(!check(wrong));
    for (const wrong of [{ threads: 0 }, { threads: 1.5 }, { offset: 2 ** 31 }]) assert.ok(!check(wrong));
    for (const right of [{ transport: 'tcp,undici' }, { legacy: 'true' }, { threads: '10,20..40/5' }])
      assert.ok(check(right), JSON.stringify(check.errors));
  });

  it('knows the calls of contracts, their members, and which names are reserved', () => {
    const call = { deploy: 'a.json', function: 'f', args: ['1', [2, true]], 'call-value': 1 };
    for (const right of [{ workloads: { mint: call } }, { workloads: '{}' }, { args: [['1']] }, { args: 5 }])
      assert.ok(check(right), JSON.stringify(check.errors));
    for (const wrong of [
      { counter: call },
      { 'a b': call },
      { mint: { functon: 'f' } },
      { mint: { 'max-value': 1 } },
      { mint: 5 },
    ])
      assert.ok(!check({ workloads: wrong }), JSON.stringify(wrong));
  });

  it('takes the files of an option that takes several', async (t) => {
    const config = { with: ['b,1.json', 'c.json'] };
    assert.ok(check(config));
    const file = temporaryFile(t, 'config.json', config);
    const { config: read } = await readCommand(['compare', 'a.json', '--config', file]);
    assert.deepEqual(read.study.candidates, ['b,1.json', 'c.json']);
  });
});
