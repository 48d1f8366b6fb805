/** What tests read from pages. */
import assert from 'node:assert/strict';
import vm from 'node:vm';

/**
 * @import { Chart } from '../../../src/report/charts.js'
 * @import { PageData } from '../../../src/report/html.js'
 */

/** @param {string} page @param {string} name @returns {Array<number | null>} values of all figures of that name on the page */
export function figures(page, name) {
  const pattern = new RegExp(`data-figure="${name.replaceAll('.', '\\.')}"\\s+data-value="([^"]*)"`, 'g');
  return [...page.matchAll(pattern)].map(([, value]) => (value === 'null' ? null : Number(value)));
}

/** @param {string} page @param {string} name @returns {number | null} */
export function figure(page, name) {
  const [first] = figures(page, name);
  assert.notEqual(first, undefined, `no figure ${name}`);
  return first;
}

/** @param {string} page @returns {Record<string, Chart>} by id */
export function chartsOf(page) {
  const text = /<script type="application\/json" id="data">\s*(.*?)\s*<\/script>/s.exec(page)?.[1] ?? '';
  /** @type {PageData} */
  const { charts } = JSON.parse(text);
  return Object.fromEntries(charts.map((chart) => [chart.id, chart]));
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
