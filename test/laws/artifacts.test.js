/** The committed artifacts are what the sources compile to: the tool itself never loads solc. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { makeArtifacts } from '../../scripts/compile.js';

const FOLDER = new URL('../../contracts/artifacts/', import.meta.url);

describe('contracts/artifacts', () => {
  /** @type {Record<string, string>} */
  let compiled = {};
  before(async () => {
    compiled = await makeArtifacts();
  });

  it('has an artifact for each contract and nothing else', () =>
    assert.deepEqual(readdirSync(FOLDER).sort(), Object.keys(compiled).sort()));

  for (const name of readdirSync(FOLDER)) {
    it(`${name} is what its source compiles to, byte for byte`, () => {
      const committed = readFileSync(new URL(name, FOLDER), 'utf8');
      assert.ok(committed === compiled[name], `${name} is not up to date: npm run compile`);
    });

    it(`${name} has no instruction that older chains lack`, () => {
      const { bytecode } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
      assert.ok(!opcodes(bytecode).includes(0x5f), 'PUSH0');
    });

    it(`${name} does not read the number of its block, which is not that of the RPC on some chains`, () => {
      const { bytecode } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
      assert.ok(!opcodes(bytecode).includes(0x43), 'NUMBER');
    });
  }
});

/** @param {string} code @returns {number[]} its instructions, without what PUSH takes and the metadata at its end */
function opcodes(code) {
  const bytes = Buffer.from(code.slice(2), 'hex');
  const metadataLength = bytes.length > 2 ? bytes.readUInt16BE(bytes.length - 2) + 2 : 0;
  const found = [];
  for (let i = 0; i < bytes.length - metadataLength; i += 1) {
    found.push(bytes[i]);
    if (bytes[i] >= 0x60 && bytes[i] <= 0x7f) i += bytes[i] - 0x5f;
  }
  return found;
}
