/** What contract calls name: functions, values, artifacts and events, before a chain is asked. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Interface } from 'ethers';
import { RpcError } from '../../../src/errors.js';
import { readCall, refusalWords, revertWords } from '../../../src/workloads/contract-abi.js';
import { readArtifact } from '../../../src/workloads/contract-state.js';
import { NO_CALL } from '../../../src/workloads/table.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFile } from '../../helpers/temporary.js';

/** @import { ContractCall } from '../../../src/contracts/load.d.ts' */

const ADDRESS = `0x${'ab'.repeat(20)}`;
const WRONG_CHECKSUM = '0x5FbDB2315678afecb367f032d93F642f64180aa4';

const ABI = new Interface([
  'constructor(uint256 cap, bool open)',
  'function transfer(address to, uint256 units) returns (bool)',
  'function over(uint256 a)',
  'function over(uint256 a, uint256 b)',
  'function pay() payable',
  'event Moved(uint256 units)',
  'error Closed(uint256 code, string why)',
]);
const abi = JSON.parse(ABI.formatJson());
const [CODE, LIBRARY] = ['0x6001600155', '0x60__$aabbccddeeff$__00'];

/** @param {string} name @param {unknown} content */
const fileOf = (name, content) => temporaryFile({ after }, name, content);
const FOUNDRY = fileOf('Foundry.json', { abi, bytecode: { object: CODE, linkReferences: {} } });
const HARDHAT = fileOf('Hardhat.json', { abi, bytecode: CODE, linkReferences: {} });
const PLAIN = fileOf('abi.json', abi);
const FUNCTION = { name: 'a', type: 'function' };
const ODD = fileOf('odd.json', {
  abi: [
    { type: 'function', name: 'pay', inputs: [], outputs: [], stateMutability: 'payable' },
    { type: 'function', name: 'each', inputs: [FUNCTION], outputs: [], stateMutability: 'view' },
    {
      ...{ type: 'function', name: 'open', outputs: [], stateMutability: 'view' },
      inputs: [{ name: 'door', type: 'tuple', components: [{ name: 'kind', type: 'Doors.Kind' }] }],
    },
    { type: 'event', name: 'Set', inputs: [FUNCTION] },
    { type: 'constructor', inputs: [FUNCTION], stateMutability: 'nonpayable' },
  ],
  bytecode: CODE,
});
const NESTED = (/** @type {number[]} */ pair) => ({ kind: 1, more: { tag: '0x010203', pair } });
const WORDS = fileOf('words.json', ['function mint(uint256)', 'event Minted()']);

/** @param {Partial<ContractCall>} call */
const callOf = (call) => ({ ...NO_CALL, contractAddress: ADDRESS, ...call });

/** @param {Partial<ContractCall>} call @param {object} [values] */
async function dataOf(call, values = {}) {
  const { encoders } = await readCall(callOf(call), 'contract');
  const own = {
    user: { index: 1 },
    addresses: [ADDRESS, `0x${'cd'.repeat(20)}`],
    pick: () => 1,
    walletIndex: 7,
    nonce: 3,
  };
  return encoders.map((encoder) => encoder.dataOf(/** @type {any} */ ({ ...own, ...values })));
}

describe('readCall()', () => {
  it('encodes values as ethers does, whatever form they are given in', async () => {
    const signature = 'f((uint256 a, address b) pair, uint256[] list, bool flag, string text, bytes4 tag, int8 low)';
    const plain = new Interface([`function ${signature}`]);
    const expected = plain.encodeFunctionData('f', [[5n, ADDRESS], [1n, 2n], false, 'true', '0x01020304', -5]);
    for (const args of [
      [['5', ADDRESS], ['1', 2], 'false', 'true', '0x01020304', '-5'],
      [{ b: ADDRESS, a: '0x5' }, [1, '2'], false, 'true', '0x01020304', -5],
    ])
      assert.deepEqual(await dataOf({ function: signature, args }), [expected]);
  });

  it('a function is found by its name in an ABI, in each form of a file', async () => {
    for (const file of [FOUNDRY, HARDHAT, PLAIN]) {
      const [data] = await dataOf({ abi: file, function: 'transfer', args: ['{{wallet.next}}', '{{wallet.index}}'] });
      assert.equal(data, ABI.encodeFunctionData('transfer', [ADDRESS, 7]));
    }
    assert.match((await dataOf({ abi: WORDS, function: 'mint', args: ['5'] }))[0], /^0xa0712d68/);
    assert.equal((await dataOf({ abi: FOUNDRY, function: 'over(uint256,uint256)', args: [1, 2] }))[0].length, 138);
  });

  it('templates of the operation are in calldata and in lists', async () => {
    const unique = (7n << 64n) + 3n;
    const [data] = await dataOf({ function: 'f(uint256[])', args: [['{{unique}}', '{{nonce}}', '{{number 5 6}}']] });
    const [list] = new Interface(['function f(uint256[])']).decodeFunctionData('f', data);
    assert.deepEqual([...list], [unique, 3n, 5n]);
    const [raw] = await dataOf({ calldata: '0x70a08231{{address.own.word}}' });
    assert.equal(raw, `0x70a08231${'0'.repeat(24)}${'cd'.repeat(20)}`);
    const [words] = await dataOf({ calldata: '0x01020304{{nonce.word}}{{unique.word}}{{number.word 5 6}}' });
    assert.equal(words, `0x01020304${[3n, unique, 5n].map((n) => n.toString(16).padStart(64, '0')).join('')}`);
  });

  it('a file has calldata in each line', async () => {
    const file = fileOf('calldata.txt', `# two\n0x01020304\n\n  0x05{{wallet.next.word}}\n`);
    assert.deepEqual(await dataOf({ calldata: file }), ['0x01020304', `0x05${ADDRESS.slice(2).padStart(64, '0')}`]);
  });

  it('a contract is created with the values of its constructor, also one that is compiled', async () => {
    const { creation } = await readCall(callOf({ deploy: HARDHAT, deployArgs: ['5', true], function: 'pay' }), 'a');
    assert.equal(creation?.dataOf(/** @type {any} */ ({})), CODE + ABI.encodeDeploy([5, true]).slice(2));
    const source = 'contract A { function f() public {} }\ncontract B { uint256 x; constructor(uint256 a) { x = a; } }';
    const file = fileOf('Two.sol', source);
    const compiled = await readCall(callOf({ deploy: `${file}:B`, deployArgs: ['1'], calldata: '0x' }), 'a');
    assert.match(String(compiled.creation?.dataOf(/** @type {any} */ ({}))), /^0x60.*0001$/);
    await assert.rejects(readCall(callOf({ deploy: file, calldata: '0x' }), 'contract'), {
      exitCode: 65,
      message: /Two\.sol: name one of its contracts, such as --deploy \S+Two\.sol:NAME; the source has A, B$/,
    });
  });

  it('a contract of this program is found by its name, from any folder', async () => {
    const { creation, words } = await readCall(
      callOf({ contractAddress: null, deploy: 'Token', function: 'mint', args: ['1'] }),
      'contract',
    );
    const { bytecode } = readArtifact('Token');
    assert.deepEqual([creation?.dataOf(/** @type {any} */ ({})), words], [bytecode, 'mint(uint256)']);
    const error = await caught(() =>
      readCall(callOf({ contractAddress: null, deploy: 'Tokem', function: 'mint()' }), 'contract'),
    );
    assert.match(error.message, /cannot read the artifact Tokem: no such file/);
  });

  it('a worker thread finds the same without the files', async () => {
    const { fragments } = await readCall(callOf({ abi: FOUNDRY, function: 'transfer', args: [ADDRESS, 1] }), 'a');
    const call = callOf({ abi: '/none.json', deploy: '/none.json', function: 'transfer', args: [ADDRESS, 1] });
    const { words, encoders } = await readCall(call, 'a', { known: structuredClone(fragments) });
    assert.equal(words, 'transfer(address,uint256)');
    assert.match(encoders[0].dataOf(/** @type {any} */ ({})), /^0xa9059cbb/);
  });

  const lines = fileOf('lines.txt', '1\n2\nthree\n');
  it('other functions of an ABI with types that cannot be encoded', async () => {
    assert.equal((await readCall(callOf({ abi: ODD, function: 'pay' }), 'contract')).words, 'pay()');
  });

  /** @type {Array<[words: string, call: Partial<ContractCall>, exitCode: number, message: RegExp]>} */
  const refused = [
    ['a name without an ABI', { function: 'transfer' }, 64, /^--function "transfer" has no types: give them, such as/],
    ['no signature', { function: 'transfer(adress)' }, 64, /^--function must be a name with types, such as/],
    [
      'an overloaded name',
      { abi: PLAIN, function: 'over' },
      64,
      /"over" is overloaded in .*: give over\(uint256\) or over\(uint256,uint256\)$/,
    ],
    [
      'a function that is not there',
      { abi: PLAIN, function: 'mint(uint256)' },
      65,
      /abi\.json has no function "mint\(uint256\)": it has transfer\(address,uint256\), .* for a proxy,/,
    ],
    [
      'an event that is not there',
      { abi: PLAIN, calldata: '0x', checkEvent: 'Gone' },
      65,
      /no event "Gone": it has Moved\(uint256\);/,
    ],
    [
      'too few values',
      { function: 'transfer(address,uint256)', args: [ADDRESS] },
      64,
      /^--args has 1 value, and transfer\(address,uint256\) takes 2$/,
    ],
    [
      'a list that is not in a list',
      { function: 'f(uint256[])', args: [1, 2] },
      64,
      /^--args has 2 values, and f\(uint256\[\]\) takes 1, which is a list in the list: \[\[1,2\]\]$/,
    ],
    [
      'a wrong checksum',
      { function: 'f(address)', args: [WRONG_CHECKSUM] },
      64,
      new RegExp(`value 1 of f\\(address\\) must be of type address, not "${WRONG_CHECKSUM}"$`),
    ],
    [
      'a text for a number',
      { function: 'f(uint8)', args: ['256'] },
      64,
      /value 1 of f\(uint8\) must be of type uint8, not "256"$/,
    ],
    ['a fraction', { function: 'f(uint256)', args: ['1.5'] }, 64, /must be of type uint256, not "1\.5"$/],
    ['neither true nor false', { function: 'f(bool)', args: ['yes'] }, 64, /must be of type bool, not "yes"$/],
    [
      'a tuple with a member too few',
      { function: 'f((uint8,bool))', args: [[1]] },
      64,
      /must be of type \(uint8,bool\), not "\[1\]"$/,
    ],
    [
      'a value deep within lists and tuples',
      { function: 'f((uint8 kind,(bytes3 tag,int8[2] pair) more)[] all)', args: [[NESTED([-129, 1])]] },
      64,
      /^--args: value 1\[0\]\.more\.pair\[0\] of f\(.*\) must be of type int8, not "-129"$/,
    ],
    [
      'a list of another length',
      { function: 'f((uint8 kind,(bytes3 tag,int8[2] pair) more)[] all)', args: [[NESTED([1])]] },
      64,
      /^--args: value 1\[0\]\.more\.pair of f\(.*\) must be of type int8\[2\], not "\[1\]"$/,
    ],
    [
      'a member that the tuple does not have',
      { function: 'f((uint8 a,bool b) pair)', args: [{ a: 1, b: true, c: 2 }] },
      64,
      /^--args: value 1 of f\(\(uint8,bool\)\) must be of type \(uint8,bool\), not "/,
    ],
    [
      'a misspelled member beside a value that looks like a key',
      { function: 'f((bytes32 root,bool open) a)', args: [{ root: `0x${'4f'.repeat(32)}`, opn: true }] },
      64,
      /must be of type \(bytes32,bool\), not an object with root, opn; its members are root, open$/,
    ],
    [
      'a letter in calldata that looks like a key',
      { calldata: `0xa9059cbb${'4f'.repeat(40)}o1` },
      65,
      /^--calldata: calldata must be 0x and pairs of hexadecimal digits, and "o" is behind 88 digits$/,
    ],
    ['bytes of another length', { function: 'f(bytes4)', args: ['0x010203'] }, 64, /of type bytes4, not "0x010203"$/],
    ['a negative number', { function: 'f(uint256)', args: ['-1'] }, 64, /must be of type uint256, not "-1"$/],
    ['a low number', { function: 'f(int8)', args: ['-129'] }, 64, /must be of type int8, not "-129"$/],
    ['a name of an enum', { function: 'f(uint8)', args: ['Open'] }, 64, /must be of type uint8, not "Open"$/],
    [
      'a type of Solidity',
      { function: 'f(Kind)', args: [1] },
      64,
      /not "f\(Kind\)"; an enum is uint8, a contract address/,
    ],
    [
      'what receives a payment',
      { abi: PLAIN, function: 'receive' },
      64,
      /"receive" is no function .*: give --calldata 0x/,
    ],
    [
      'a fallback',
      { function: 'fallback()' },
      64,
      /"fallback\(\)" is no function that a call can name: give --calldata/,
    ],
    [
      'an ABI with nothing in it',
      { abi: fileOf('none.json', []), function: 'f' },
      65,
      /no function "f": it has none; for a/,
    ],
    [
      'an event without a name',
      {
        abi: fileOf('quiet.json', [{ type: 'event', name: 'Quiet', anonymous: true, inputs: [] }]),
        calldata: '0x',
        checkEvent: 'Quiet',
      },
      64,
      /^--check-event: Quiet\(\) is anonymous/,
    ],
    [
      'a template that lacks a word',
      { function: 'f(uint8)', args: ['{{number 1}}'] },
      64,
      /must be {{number FROM TO}}$/,
    ],
    [
      'a file with a space in its name',
      { function: 'f(uint8)', args: ['{{line my file}}'] },
      64,
      /^--args: {{line my file}} must be {{line FILE}}, a name without spaces$/,
    ],
    [
      'a decimal number in calldata',
      { calldata: '0x{{number 10 99}}' },
      65,
      /^--calldata: {{number}} is a decimal number: give {{number\.word}}, which is 32 bytes$/,
    ],
    ['an empty value', { function: 'f(uint256)', args: [''] }, 64, /must be of type uint256, not ""$/],
    [
      'an unknown template',
      { function: 'f(address)', args: ['{{wallet.nxt}}'] },
      64,
      /^--args: \{\{wallet\.nxt\}\} is no template; .* wallet\.next, /,
    ],
    [
      'a template of plain calls',
      { function: 'f(uint256)', args: ['{{block.latest}}'] },
      64,
      /^--args: \{\{block\.latest\}\} has no value here; /,
    ],
    [
      'a template of a range that has no number',
      { function: 'f(uint256)', args: ['{{number 5 4}}'] },
      64,
      /^--args: {{number 5 4}} must be {{number FROM TO}}$/,
    ],
    [
      'a template of a file that is not there',
      { function: 'f(uint256)', args: ['{{line none.txt}}'] },
      64,
      /^--args: \{\{line\}\} cannot read none\.txt: no such file$/,
    ],
    [
      'a line of another type',
      { function: 'f(uint256)', args: [`{{line ${lines}}}`] },
      64,
      /must be of type uint256, not "three"$/,
    ],
    [
      'a template that outgrows its type',
      { function: 'f(uint64)', args: ['{{unique}}'] },
      64,
      /must be of type uint64, not "/,
    ],
    [
      'calldata that is none',
      { calldata: '0xabc' },
      65,
      /^--calldata: calldata must be 0x and pairs of hexadecimal digits, and has 3 digits$/,
    ],
    ['a file without calldata', { calldata: fileOf('empty.txt', '# none\n') }, 65, /empty\.txt has no calldata/],
    ['a line that is no calldata', { calldata: lines }, 65, /lines\.txt, line 1: calldata must be 0x/],
    [
      'a value for what takes none',
      { abi: PLAIN, function: 'over(uint256)', args: [1], callValueWei: 1n },
      64,
      /^--call-value: over\(uint256\) is not payable, as .*abi\.json says$/,
    ],
    [
      'an artifact that needs linking',
      {
        deploy: fileOf('L.json', { abi, bytecode: { object: LIBRARY, linkReferences: { 'a.sol': { Maths: [] } } } }),
        calldata: '0x',
      },
      65,
      /L\.json needs to be linked with Maths: deploy it with another tool/,
    ],
    ['an ABI to deploy', { deploy: PLAIN, calldata: '0x' }, 65, /abi\.json has no bytecode to deploy/],
    [
      'a constructor without its values',
      { deploy: FOUNDRY, calldata: '0x' },
      64,
      /^--deploy-args has 0 values, and constructor\(uint256,bool\) takes 2$/,
    ],
    [
      'a file without an ABI',
      { abi: fileOf('no.json', { name: 'x' }), calldata: '0x' },
      65,
      /no\.json has no ABI, which is a JSON array; give --abi/,
    ],
    [
      'an ABI that is none',
      { abi: fileOf('bad.json', ['function f(']), calldata: '0x' },
      65,
      /bad\.json: entry 1 of the ABI is no function, event, error or constructor: "\\"function f\(\\""$/,
    ],
    [
      'a null in an ABI',
      { abi: fileOf('null.json', [null]), calldata: '0x' },
      65,
      /entry 1 of the ABI is no .*: "null"$/,
    ],
    [
      'a function that takes a function',
      { abi: ODD, function: 'each' },
      65,
      /odd\.json: each has the type "function", which cannot be encoded: give its data with --calldata 0x\.\.\.$/,
    ],
    [
      'the enum of a library in a tuple',
      { abi: ODD, function: 'open((uint8),uint256)' },
      65,
      /odd\.json: open has the type "Doors.Kind", which cannot be encoded/,
    ],
    ['an event with a function', { abi: ODD, calldata: '0x', checkEvent: 'Set' }, 65, /Set has the .* be encoded$/],
    [
      'a constructor that takes a function',
      { deploy: ODD, calldata: '0x' },
      65,
      /odd\.json: its constructor has the type "function", which cannot be encoded: deploy it with another tool/,
    ],
    [
      'a constructor with a tuple',
      { deploy: fileOf('T.json', { abi: ['constructor((uint8,bool) a)'], bytecode: CODE }), calldata: '0x' },
      64,
      /^--deploy-args has 0 values, and constructor\(\(uint8,bool\)\) takes 1,/,
    ],
  ];
  for (const [words, call, exitCode, message] of refused)
    it(`${words} is refused`, async () => {
      const error = await caught(() => readCall(callOf(call), 'contract'));
      assert.match(error.message, message);
      assert.ok(!error.message.includes('\n'));
      assert.equal(error.exitCode, exitCode);
    });

  it('a member of a mix is named in messages', async () => {
    const { message } = await caught(() => readCall(callOf({ function: 'f(uint8)' }), 'mint'));
    assert.equal(message, 'mint: args has 0 values, and f(uint8) takes 1');
  });
});

describe('reasons of reverts', () => {
  it('of a call with a value: the function may take none', () => {
    const error = new RpcError('eth_estimateGas', 3, 'execution reverted', '0x');
    assert.match(refusalWords(ABI, error, true), /has this function and takes these values, and that it is payable$/);
  });

  const closed = ABI.encodeErrorResult('Closed', [5, 'too late']);
  const text = new Interface(['error Error(string)']).encodeErrorResult('Error', ['cap is reached']);

  it('are decoded by the ABI, wherever the node puts the data', () => {
    for (const data of [closed, `Reverted ${closed}`, { data: closed, message: 'x' }])
      assert.equal(revertWords(ABI, data), 'Closed(code 5, why too late)');
    assert.equal(revertWords(ABI, text), 'cap is reached');
    const panic = (/** @type {number} */ code) =>
      new Interface(['error Panic(uint256)']).encodeErrorResult('Panic', [code]);
    assert.equal(revertWords(ABI, panic(0x11)), 'panic 0x11 (arithmetic overflow)');
    assert.equal(revertWords(ABI, panic(0x99)), 'panic 0x99');
    for (const data of [undefined, null, '0x', '0x12345678', { data: '0x' }])
      assert.equal(revertWords(ABI, data), null);
  });

  for (const [rpcMessage, data, words] of /** @type {Array<[string, unknown, RegExp]>} */ ([
    ['execution reverted', closed, /^reverted: Closed\(code 5, why too late\)$/],
    [
      'execution reverted',
      '0x',
      /^execution reverted without a reason: check that the contract has this function and takes these values$/,
    ],
    [
      'execution reverted',
      '0x12345678',
      /^execution reverted with the error 0x12345678: an --abi FILE that has it names it$/,
    ],
    ['execution reverted: custom error 0x12345678', '0x12345678', /that has it names it$/],
    ['execution reverted: no', undefined, /^execution reverted: no$/],
    ['out of gas', undefined, /^out of gas$/],
  ]))
    it(`${rpcMessage} with ${String(data).slice(0, 12)}`, () =>
      assert.match(refusalWords(ABI, new RpcError('eth_call', 3, rpcMessage, data)), words));
});
