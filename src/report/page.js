import { pageAssets } from './assets.js';
import { html, Html, scriptJson } from './html.js';

/** @import { Chart, TimeAxis } from './charts.js' */

/**
 * The frame of every page: one file that asks nobody for anything.
 *
 * @typedef {object} PageData what the script draws
 * @property {TimeAxis | null} time the axis that all charts of a run share
 * @property {Chart[]} charts
 *
 * @typedef {object} Page
 * @property {string} title
 * @property {Html} lead the verdict and what stands at the top
 * @property {Html} main
 * @property {PageData} data
 * @property {number} [liveSince] it is served while the run goes on, and listens to what is new after so many intervals
 */

/** @param {Page} page @returns {string} the whole document */
export function renderPage({ title, lead, main, data, liveSince }) {
  const isLive = liveSince !== undefined;
  const { script, style, policy } = pageAssets();
  return `${html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${`${policy}${isLive ? "; connect-src 'self'" : ''}`}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body${isLive && html` data-live="${liveSince}"`}>
<a class="skip" href="#main">Skip to the charts</a>
<header>
<div class="bar"><span class="brand">stress</span>
${isLive && html`<span id="live" role="status">connecting</span>`}
<button type="button" id="theme" class="needs-script">Colours: <span>as the system</span></button></div>
<h1>${title}</h1>
<div id="lead">${lead}</div>
${isLive && html`<p id="now"></p>`}
</header>
<main id="main">
<noscript><p class="note">The charts need scripts; all other figures are below.</p></noscript>
${main}
</main>
<script type="application/json" id="data">${scriptJson(data)}</script>
<script>${new Html(script)}</script>
</body>
</html>`}\n`;
}
