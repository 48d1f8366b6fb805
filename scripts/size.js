/**
 * Counts of files, lines and lines of code, of words of the docs, and of the files that name a feature outside its own:
 * npm run size [-- --files] lists these files.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Pages that are not counted: the history, and the pages that programs write. */
const OTHER_PAGES = ['changelog.md', 'faults.md', 'options.md'];

/** @param {string} folder @param {RegExp} pattern @returns {string[]} texts of files */
function textsIn(folder, pattern) {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => pattern.test(name)).map((name) => readFileSync(join(ROOT, folder, name), 'utf8'));
}

/** Lines that are neither blank nor part of a comment. @param {string} text */
function linesOfCode(text) {
  const withoutBlocks = text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '');
  return withoutBlocks.split('\n').filter((line) => !/^\s*(\/\/|$)/.test(line)).length;
}

/** @param {string} label @param {string[]} texts */
function print(label, texts) {
  const sum = (/** @type {(text: string) => number} */ count) => texts.reduce((total, text) => total + count(text), 0);
  const lines = sum((text) => text.split('\n').length - 1);
  console.log(`${label.padEnd(12)} ${texts.length} files, ${lines} lines, ${sum(linesOfCode)} of code`);
}

print('src .js', textsIn('src', /\.js$/));
print('src .d.ts', textsIn('src', /\.d\.ts$/));
print('test', textsIn('test', /\.js$/));
print('scripts', textsIn('scripts', /\.js$/));

const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md') && !OTHER_PAGES.includes(name));
const texts = [...pages.map((name) => join('docs', name)), 'README.md'].map((name) =>
  readFileSync(join(ROOT, name), 'utf8'),
);
const words = texts.reduce((total, text) => total + (text.match(/[^\s|]*[\p{L}\p{N}][^\s|]*/gu) ?? []).length, 0);
console.log(`docs         ${texts.length} pages, ${words} words`);

/** Names in code of what steers the load or listens to it, and its own files. @type {Record<string, {names: string[], own: RegExp}>} */
const FEATURES = {
  pace: { names: ['pace', 'poolTarget', 'maxBaseFee', 'maxBaseFeeWei', 'PaceFacts', 'PoolDepth'], own: /pace/ },
  refills: {
    names: ['refills', 'refill', 'refillBelow', 'refillBelowWei', 'RefillPlan', 'RefillFacts'],
    own: /refill/,
  },
  'gas rate': { names: ['gasRate', 'gasPerSecond', 'GasRateFacts'], own: /gas/ },
  storm: { names: ['storm', 'nonceOrder', 'duplicateShare', 'replaceShare', 'StormFacts'], own: /storm/ },
  ladder: { names: ['ladder', 'LevelFigures', 'LadderFacts'], own: /ladder/ },
  consistency: { names: ['consistency', 'checkShare', 'ConsistencyFacts'], own: /consistency/ },
  flashblocks: { names: ['flashblocks', 'Flashblocks'], own: /flashblocks/ },
};
/** Written by npm run run:schema. */
const GENERATED = /run-schema\.d\.ts$/;

/** Identifiers, and texts that name a member or an option. @param {string} text @returns {Set<string>} */
function namesIn(text) {
  const names = new Set();
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isIdentifier(node)) names.add(node.text);
    if (ts.isStringLiteral(node)) names.add(node.text.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase()));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, false));
  return names;
}

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(js|d\.ts)$/.test(name) && !GENERATED.test(name))
  .map((name) => ({ name, names: namesIn(readFileSync(join(ROOT, 'src', name), 'utf8')) }));
for (const [feature, { names, own }] of Object.entries(FEATURES)) {
  const files = sources.filter((file) => !own.test(file.name) && names.some((name) => file.names.has(name)));
  console.log(`${feature.padEnd(12)} named in ${files.length} files outside its own`);
  if (process.argv.includes('--files')) console.log(files.map(({ name }) => `  ${name}`).join('\n'));
}
