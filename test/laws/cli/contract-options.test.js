import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { caught } from '../../helpers/caught.js';
import { temporaryFile } from '../../helpers/temporary.js';
import { readCommand } from './read.js';

const ADDRESS = '0x5FbDB2315678afecb367f032d93F642f64180aa3';

/** A call of which nothing is given. */
const NONE = {
  ...{ contractAddress: null, function: null, args: null, abi: null, calldata: null, callValueWei: null },
  ...{ deploy: null, deployArgs: null, before: null, beforeArgs: null, checkEvent: null },
};

const CALL = ['-t', '2', '--workload', 'contract', '--contract-address', ADDRESS, '--function', 'f(uint256,uint256)'];

/** @param {string} text of --args */
const valuesOf = async (text) => (await readCommand([...CALL, `--args=${text}`])).config.workload.args;

/** @param {unknown} json of --workloads @param {string} [mix] */
const callsOf = async (json, mix = 'mint:1') =>
  (await readCommand(['-t', '2', '--mix', mix, '--workloads', JSON.stringify(json)])).config.workload.workloads;

describe('values of a call', () => {
  it('are separated by commas, or are JSON', async () => {
    for (const [text, values] of /** @type {Array<[string, unknown[]]>} */ ([
      ['{{wallet.next}}, 1', ['{{wallet.next}}', '1']],
      ['[[1,"2"],true,"a, b"]', [[1, '2'], true, 'a, b']],
      ['[]', []],
    ]))
      assert.deepEqual(await valuesOf(text), values);
  });

  it('are refused where they are neither, or where JSON would change a number', async () => {
    await assert.rejects(valuesOf('[1,2],3'), {
      message: /^--args must be values separated by commas, such as .*, or a JSON array/,
    });
    await assert.rejects(valuesOf('[1,[1000000000000000000000]]'), {
      message: /has the number 1e\+21, .* in quotation marks$/,
    });
  });
});

describe('workloads', () => {
  it('has the members of a call by the names of options, the others are not given', async () => {
    const given = { 'contract-address': ADDRESS, function: 'mint(uint256)', args: [5], 'call-value': '3wei' };
    const alone = { 'contract-address': ADDRESS, calldata: '0x' };
    const { mint, ping } = /** @type {any} */ (await callsOf({ mint: given, ping: alone }, 'mint:1,ping:1'));
    assert.deepEqual(ping, { ...NONE, contractAddress: ADDRESS, calldata: '0x' });
    const read = { contractAddress: ADDRESS, function: 'mint(uint256)', args: [5], callValueWei: 3n };
    assert.deepEqual(mint, { ...NONE, ...read });
  });

  for (const [json, message] of /** @type {Array<[unknown, RegExp]>} */ ([
    [[], /^--workloads must be an object of calls by name, such as /],
    [{ 'a b': {} }, /^--workloads has the name "a b": give up to 40 letters/],
    [{ mint: 5 }, /^--workloads has mint, which must be an object/],
    [{ mint: { functon: 'f()' } }, /^--workloads has mint with an unknown member "functon": did you mean function\?$/],
    [{ mint: { 'max-value': 1 } }, /^--workloads has mint with an unknown member "max-value"/],
    [{ mint: { 'contract-address': '0x1' } }, /^--workloads has mint with contract-address, which must be an address/],
    [{ mint: { 'contract-address': 'mint' } }, /^--workloads has mint with contract-address, which must be an address/],
    [{ mint: { args: [1] } }, /^--workloads has mint with args, which needs function$/],
    [
      { mint: { function: 'f()', calldata: '0x' } },
      /^--workloads has mint with function and calldata: leave one of them out$/,
    ],
  ]))
    it(`${JSON.stringify(json)} is refused`, () => assert.rejects(callsOf(json), { code: 'usage', message }));

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
