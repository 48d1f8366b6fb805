/** Links between the pages: each leads to a file that is there, and to a heading of it; each page is linked. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]; // prettier-ignore

/** @param {string} page */
const textOf = (page) => readFileSync(join(ROOT, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '');

/** As GitHub names headings. @param {string} text @returns {Set<string>} */
function anchorsOf(text) {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
  );
  return new Set(
    headings.map((one) =>
      one
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** @param {string} page @returns {Array<{target: string, anchor: string}>} links within the repository; target: a path from its root */
function linksOf(page) {
  const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
  return links.map(([, path, anchor = '']) => {
    return { target: path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path)), anchor };
  });
}

test('each link of a page leads to a file, and to a heading of it', () => {
  const broken = PAGES.flatMap((page) =>
    linksOf(page).flatMap(({ target, anchor }) => {
      if (!existsSync(join(ROOT, target))) return [`${page}: ${target} is not there`];
      if (anchor === '' || !target.endsWith('.md') || anchorsOf(textOf(target)).has(anchor)) return [];
      return [`${page}: ${target} has no heading #${anchor}`];
    }),
  );
  assert.deepEqual(broken, []);
});

test('each page is linked', () => {
  const linked = new Set(
    PAGES.flatMap((page) => linksOf(page).flatMap(({ target }) => (target === page ? [] : target))),
  );
  assert.deepEqual(
    PAGES.filter((page) => page !== 'README.md' && !linked.has(page)),
    [],
  );
});

test('the page of questions has one link for each', () => {
  const questions = textOf('docs/questions.md')
    .split('\n')
    .filter((line) => line.startsWith('1. '));
  assert.ok(questions.length >= 25);
  for (const question of questions) assert.match(question, /^1\. \*\*[^*]+\?\*\* [^[]*: \[[^\]]+\]\([^)]+\)\.$/);
});
