/** Counts of files, lines and lines of code, and of words of the docs: npm run size. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
