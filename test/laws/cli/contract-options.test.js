import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseNamedCalls } from '../../../src/cli/contract-options.js';
import { CALL_OPTIONS } from '../../../src/cli/options.js';
import { argumentList } from '../../../src/cli/parse.js';
import { NO_CALL } from '../../../src/workloads/table.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFile } from '../../helpers/temporary.js';
import { readCommand } from './read.js';

const ADDRESS = '0x5FbDB2315678afecb367f032d93F642f64180aa3';

describe('values of a call', () => {
  it('are separated by commas, or are JSON', () => {
    for (const [text, values] of /** @type {Array<[string, unknown[]]>} */ ([
      ['{{wallet.next}}, 1', ['{{wallet.next}}', '1']],
      ['', ['']],
      ['[[1,"2"],true,"a, b"]', [[1, '2'], true, 'a, b']],
      ['[]', []],
    ]))
      assert.deepEqual(argumentList(text), values);
  });

  it('are refused where they are neither, or where JSON would change a number', () => {
    assert.throws(
      () => argumentList('[1,2],3'),
      /^Error: must be values separated by commas, such as .*, or a JSON array/,
    );
    assert.throws(() => argumentList('[1,[1000000000000000000000]]'), /has the number 1e\+21, .* in quotation marks$/);
  });
});

describe('workloads', () => {
  it('has the members of a call by the names of options, the others are not given', async () => {
    const { mint } = await parseNamedCalls(
      JSON.stringify({
        mint: { 'contract-address': ADDRESS, function: 'mint(uint256)', args: [5], 'call-value': '3wei' },
      }),
      CALL_OPTIONS,
    );
    const given = { contractAddress: ADDRESS, function: 'mint(uint256)', args: [5], callValueWei: 3n };
    assert.deepEqual(mint, { ...NO_CALL, ...given });
    assert.deepEqual(CALL_OPTIONS.map(({ key }) => key).sort(), Object.keys(NO_CALL).sort());
  });

  for (const [json, message] of /** @type {Array<[unknown, RegExp]>} */ ([
    [[], /^must be an object of calls by name, such as /],
    [{ 'a b': {} }, /^has the name "a b": give up to 40 letters/],
    [{ mint: 5 }, /^has mint, which must be an object/],
    [{ mint: { functon: 'f()' } }, /^has mint with an unknown member "functon": did you mean function\?$/],
    [{ mint: { 'max-value': 1 } }, /^has mint with an unknown member "max-value"/],
    [{ mint: { 'contract-address': '0x1' } }, /^has mint with contract-address, which must be an address/],
    [{ mint: { 'contract-address': 'mint' } }, /^has mint with contract-address, which must be an address/],
    [{ mint: { args: [1] } }, /^has mint with args, which needs function$/],
    [{ mint: { function: 'f()', calldata: '0x' } }, /^has mint with function and calldata: leave one of them out$/],
  ]))
    it(`${JSON.stringify(json)} is refused`, () =>
      assert.rejects(parseNamedCalls(JSON.stringify(json), CALL_OPTIONS), { message }));

  it('is an object in the config file, and a text in the environment of the runs of a study', async (t) => {
    const workloads = {
      ping: { deploy: 'a.json', function: 'ping()' },
      pong: { 'contract-address': 'ping', calldata: '0x' },
    };
    const config = { workloads, mix: ['ping:1', 'pong:2'], threads: '2,3', duration: '1s' };
    const file = temporaryFile(t, 'config.json', config);
    const { study } = (await readCommand(['sweep', '--config', file])).config;
    const { workload } = (await readCommand(['-t', '2'], study.env)).config;
    assert.equal(workload.workloads?.pong.contractAddress, 'ping');
    assert.deepEqual(workload.mix, [
      { name: 'ping', weight: 1 },
      { name: 'pong', weight: 2 },
    ]);
  });

  const ping = { deploy: 'a.json', function: 'ping()' };
  for (const [workloads, mix, words] of /** @type {Array<[object, string, RegExp]>} */ ([
    [{ erc20: ping }, 'counter:1', /^workloads names a call erc20, which is the name of a built-in workload/],
    [{ calls: ping }, 'counter:1', /^workloads names a call calls, /],
    [
      { ping },
      'pign:1',
      /^--mix must be one of counter, .*, calls, ping, \.\/FILE\.mjs, not "pign": did you mean ping\?$/,
    ],
    [{ ping: { deploy: 'a.json' } }, 'ping:1', /^workloads: ping needs what to call: --function SIGNATURE/],
    [{ ping: { function: 'f()' } }, 'ping:1', /^workloads: ping needs a contract: --contract-address ADDRESS/],
    [
      { ping, pong: { ...ping, deploy: undefined, 'contract-address': 'ping' } },
      'pong:1,ping:1',
      /^workloads: pong calls the contract of ping, which needs deploy, and a place before it in --mix$/,
    ],
  ]))
    it(`${JSON.stringify(workloads)} with --mix ${mix} is refused`, async () => {
      const argv = ['-t', '2', '--mix', mix, '--workloads', JSON.stringify(workloads)];
      const { message, exitCode } = await caught(() => readCommand(argv, {}, { hasUsualConfig: false }));
      assert.match(message, words);
      assert.equal(exitCode, 64);
    });
});
