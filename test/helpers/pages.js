/** What tests read from pages. */
import assert from 'node:assert/strict';
import vm from 'node:vm';

/**
 * @import { Chart } from '../../src/report/charts.js'
 * @import { PageData } from '../../src/report/html.js'
 */

/** @param {string} html */
const textOf = (html) =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .trim();

/** @param {string} page @param {string} title @returns {string[][]} the rows of a table, the head first if there is one */
export function tableOf(page, title) {
  const [, table] = page.split(`aria-label="Table: ${title}"`).map((part) => part.split('</table>')[0]);
  assert.notEqual(table, undefined, `no table ${title}`);
  return [...table.matchAll(/<tr>([^]*?)<\/tr>/g)].map(([, row]) =>
    [...row.matchAll(/<t[hd][^>]*>([^]*?)<\/t[hd]>/g)].map(([, cell]) => textOf(cell)),
  );
}

/** The figures at the top of a page, by their labels. @param {string} page @returns {Record<string, string>} */
export function figuresOf(page) {
  const lists = [...page.matchAll(/<dl class="figures[^"]*">([^]*?)<\/dl>/g)].map(([, list]) => list);
  const tiles = lists.join('').matchAll(/<dt>([^<]*)<\/dt>\s*<dd[^>]*>([^<]*)<\/dd>/g);
  return Object.fromEntries([...tiles].map(([, label, value]) => [textOf(label), textOf(value)]));
}

/** @param {string} page @returns {Record<string, Chart>} by id */
export function chartsOf(page) {
  const text = /<script type="application\/json" id="data">\s*(.*?)\s*<\/script>/s.exec(page)?.[1] ?? '';
  /** @type {PageData} */
  const { charts } = JSON.parse(text);
  return Object.fromEntries(charts.map((chart) => [chart.id, chart]));
}

/** No value is missing. @param {string} page */
export function assertWhole(page) {
  const markup = page.replace(/<(script|style).*?<\/\1>/gs, '');
  assert.doesNotMatch(markup, /undefined|NaN|\[object|Infinity|>null</);
  assert.doesNotMatch(markup, /<figure[^>]*>\s*<(?!figcaption)/, 'a caption is the first element of its figure');
}

export const HOSTILE = `"><img src=http://evil.example/x onerror=alert(1)></script><script>alert(2)</script>'`;

/** What stood in the file as HOSTILE is text on the page, and nothing else. @param {string} page */
export function assertHarmless(page) {
  const markup = page.replace(/<(script|style)>.*?<\/\1>/gs, '');
  assert.equal(markup.match(/<script/g)?.length, 1, 'that with the data');
  assert.doesNotMatch(markup, /<img/);
  assert.ok(markup.includes('&lt;img src=http://evil.example/x onerror=alert(1)&gt;'));
  assert.doesNotMatch(markup, /\sstyle="|\son\w+="/, 'which the policy forbids');
  const addresses = [...markup.matchAll(/\s(?:src|href|action|data|poster)="([^"]*)"/g)].map(([, value]) => value);
  for (const address of addresses) assert.match(address, /^(\.\/|#main$|data:,$)/);
  assert.ok(Object.keys(chartsOf(page)).length > 0);
  new vm.Script(/<script>(.*?)<\/script>/s.exec(page)?.[1] ?? '(');
}
