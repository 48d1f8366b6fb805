import { keccak256 } from 'ethers/crypto';
import { decodeRlp, encodeRlp } from 'ethers/utils';

/**
 * The Merkle-Patricia trie of a list (Ethereum Yellow Paper, appendix D): the transactions and the receipts of a block, whose
 * keys are their indexes in RLP. Blocks are small, so that the trie is built as a whole.
 *
 * @typedef {any[]} Item a node as RLP has it: a list of hexadecimal texts and lists
 * @typedef {{nibbles: string, value: string}} Entry
 * @typedef {{item: Item, hex: string, nibbles: string, children: Map<string, Node>}} Node nibbles: those that an extension or a
 *   leaf has
 */

/** A node with fewer bytes stands in its parent itself, a larger one by its hash. */
const HASHED_BYTES = 32;

/** @param {number} index @returns {string} its key, a hexadecimal digit for each nibble */
export function keyOf(index) {
  return encodeRlp(index === 0 ? '0x' : `0x${evenHex(index.toString(16))}`).slice(2);
}

/** @param {string} digits */
function evenHex(digits) {
  return digits.length % 2 === 0 ? digits : `0${digits}`;
}

/** The nibbles of a leaf or an extension, with the flag of each (hex prefix encoding). @param {string} nibbles @param {boolean} isLeaf */
function packed(nibbles, isLeaf) {
  const isOdd = nibbles.length % 2 === 1;
  const flag = (isLeaf ? 2 : 0) + (isOdd ? 1 : 0);
  return `0x${flag}${isOdd ? '' : '0'}${nibbles}`;
}

/** @param {string} hex @returns {{nibbles: string, isLeaf: boolean}} */
function unpacked(hex) {
  const flag = Number(hex[2]);
  return { nibbles: hex.slice(flag % 2 === 1 ? 3 : 4), isLeaf: flag >= 2 };
}

/** @param {Item} item @param {string} [nibbles] @param {Map<string, Node>} [children] @returns {Node} */
function nodeOf(item, nibbles = '', children = new Map()) {
  return { item, hex: encodeRlp(item), nibbles, children };
}

/** @param {string} hex of a node */
const isHashed = (hex) => hex.length / 2 - 1 >= HASHED_BYTES;

/** @param {Node} node */
const referenceOf = ({ item, hex }) => (isHashed(hex) ? keccak256(hex) : item);

/** @param {Entry[]} entries with different keys @param {number} depth @returns {Node} */
function build(entries, depth) {
  const [first] = entries;
  if (entries.length === 1) {
    const rest = first.nibbles.slice(depth);
    return nodeOf([packed(rest, true), first.value], rest);
  }
  let end = depth;
  while (entries.every(({ nibbles }) => nibbles.length > end && nibbles[end] === first.nibbles[end])) end += 1;
  if (end > depth) {
    const [shared, child] = [first.nibbles.slice(depth, end), build(entries, end)];
    return nodeOf([packed(shared, false), referenceOf(child)], shared, new Map([['', child]]));
  }
  /** @type {Map<string, Node>} */
  const children = new Map();
  const item = Array.from({ length: 16 }, (_, i) => {
    const digit = i.toString(16);
    const own = entries.filter(({ nibbles }) => nibbles[depth] === digit);
    if (own.length === 0) return '0x';
    const child = build(own, depth + 1);
    children.set(digit, child);
    return referenceOf(child);
  });
  return nodeOf([...item, entries.find(({ nibbles }) => nibbles.length === depth)?.value ?? '0x'], '', children);
}

/**
 * @param {readonly string[]} values in hexadecimal, by index; at least one
 * @returns {{root: string, proofOf: (index: number) => string[]}} proofOf: the nodes from the root to the value
 */
export function trieOf(values) {
  const root = build(
    values.map((value, index) => ({ nibbles: keyOf(index), value })),
    0,
  );
  const proofOf = (/** @type {number} */ index) => {
    const nodes = [root.hex];
    let [node, rest] = [root, keyOf(index)];
    for (;;) {
      const isBranch = node.item.length > 2;
      const next = node.children.get(isBranch ? rest[0] : '');
      if (next === undefined) return nodes;
      rest = rest.slice(isBranch ? 1 : node.nibbles.length);
      if (isHashed(next.hex)) nodes.push(next.hex);
      node = next;
    }
  };
  return { root: keccak256(root.hex), proofOf };
}

/**
 * @param {string} root
 * @param {number} index
 * @param {readonly string[]} nodes of the proof
 * @returns {string | null} the value that the trie with this root has there; null: the nodes do not show it
 */
export function provenValue(root, index, nodes) {
  const left = [...nodes];
  let rest = keyOf(index);
  /** @type {any} */
  let reference = root;
  for (;;) {
    /** @type {any} */
    let item = reference;
    if (typeof reference === 'string') {
      const hex = left.shift() ?? '0x';
      if (keccak256(hex) !== reference) return null;
      item = decodeRlp(hex);
    }
    if (!Array.isArray(item)) return null;
    if (item.length === 17) {
      if (rest === '') return item[16];
      reference = item[Number.parseInt(rest[0], 16)];
      rest = rest.slice(1);
    } else {
      const { nibbles, isLeaf } = unpacked(item[0]);
      if (isLeaf) return nibbles === rest ? item[1] : null;
      if (!rest.startsWith(nibbles)) return null;
      reference = item[1];
      rest = rest.slice(nibbles.length);
    }
    if (reference === '0x') return null;
  }
}
