/**
 * The terminal recording in the README: a real run in a pseudo terminal, with its times and colours, as an animated SVG.
 *
 *     npm run recording -- [FILE, default docs/recording.svg] [COLUMNS, default 100]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawn } from '@lydell/node-pty';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STRESS = join(ROOT, 'bin', 'stress.js');
const RUN = ['-t', '200', '-o', '0', '-d', '15s'];
const COLUMNS = Number(process.argv[3] ?? 100);
const ROWS = 40;
/** Size of a character, and of the margin, in pixels. */
const [WIDTH, HEIGHT, MARGIN] = [8.4, 18, 14];
/** Output that follows within this time is drawn in one frame. */
const FRAME_MS = 250;
/** How long the last frame stays. */
const LAST_MS = 8000;
const MAX_BYTES = 300_000;

/** @typedef {{character: string, style: string}} Cell */

/** The part of a terminal that programs like this one use: lines that wrap and scroll, colours, and lines that are erased. */
class Screen {
  /** @type {Cell[][]} */
  lines = [[]];
  #row = 0;
  #column = 0;
  /** SGR codes that are on. @type {Set<number>} */
  #codes = new Set();

  /** @param {string} text */
  write(text) {
    for (const [part, parameters, command] of text.matchAll(/\x1b\[([\d;?]*)([A-Za-z])|\x1b.|[^]/gu)) {
      if (command !== undefined) this.#control(command, parameters);
      else if (part === '\r') this.#column = 0;
      else if (part === '\n') this.#row += 1;
      else if (part >= ' ' && part.length <= 2) this.#put(part);
      while (this.lines.length <= this.#row) this.lines.push([]);
    }
  }

  /** @param {string} character */
  #put(character) {
    if (this.#column === COLUMNS) [this.#row, this.#column] = [this.#row + 1, 0];
    const line = (this.lines[this.#row] ??= []);
    while (line.length < this.#column) line.push({ character: ' ', style: '' });
    line[this.#column] = {
      character,
      style: [...this.#codes]
        .sort()
        .map((code) => `s${code}`)
        .join(' '),
    };
    this.#column += 1;
  }

  /** @param {string} command @param {string} parameters */
  #control(command, parameters) {
    const count = Math.max(1, Number(parameters) || 1);
    const top = Math.max(0, this.lines.length - ROWS);
    if (command === 'm') for (const code of parameters.split(';')) this.#style(Number(code));
    if (command === 'A') this.#row = Math.max(top, this.#row - count);
    if (command === 'G') this.#column = count - 1;
    if (command === 'K') this.lines[this.#row] = parameters === '2' ? [] : this.lines[this.#row].slice(0, this.#column);
    if (command === 'J') this.lines.splice(this.#row, Infinity, this.lines[this.#row].slice(0, this.#column));
  }

  /** @param {number} code */
  #style(code) {
    if (code === 0) this.#codes.clear();
    if (code === 22) [1, 2].forEach((one) => this.#codes.delete(one));
    // A colour replaces another one; codes without a style below have no effect.
    if (code >= 30) [...this.#codes].filter((one) => one >= 30).forEach((one) => this.#codes.delete(one));
    if (code === 1 || code === 2 || (code !== 39 && code >= 30 && code < 98)) this.#codes.add(code);
  }

  /** @returns {string[]} the visible lines as content of a `<text>` */
  visible() {
    return this.lines.slice(-ROWS).map((line) => {
      const runs = line.reduce((/** @type {Cell[]} */ all, { character, style }) => {
        const last = all.at(-1);
        if (last?.style !== style) return [...all, { character, style }];
        return [...all.slice(0, -1), { character: last.character + character, style }];
      }, []);
      const parts = runs.map(({ character, style }) => {
        const text = character.replace(/[&<>]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[one] ?? '');
        return style === '' ? text : `<tspan class="${style}">${text}</tspan>`;
      });
      return parts.join('').trimEnd();
    });
  }
}

/** @param {string} folder @returns {Promise<Array<{atMs: number, text: string}>>} what the run wrote, and when */
async function record(folder) {
  const startMs = performance.now();
  const said = [{ atMs: 0, text: `\x1b[1m$ stress ${RUN.join(' ')}\x1b[0m\r\n` }];
  const names = Object.entries(process.env).filter(([name]) => !/^(CI|NO_COLOR|FORCE_COLOR|NODE_|STRESS_)/.test(name));
  const env = { ...Object.fromEntries(names), TERM: 'xterm-256color' };
  const terminal = spawn(process.execPath, [STRESS, ...RUN], { cwd: folder, env, cols: COLUMNS, rows: ROWS });
  terminal.onData((text) => said.push({ atMs: performance.now() - startMs, text }));
  const code = await new Promise((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  if (code !== 0) throw new Error(`the run ended with exit code ${code}:\n${said.map(({ text }) => text).join('')}`);
  return said;
}

/** @param {Awaited<ReturnType<typeof record>>} said @returns {Array<{atMs: number, lines: string[]}>} */
function framesOf(said) {
  const screen = new Screen();
  /** @type {Array<{atMs: number, lines: string[]}>} */
  const frames = [];
  said.forEach(({ atMs, text }, i) => {
    screen.write(text);
    const isFollowed = i + 1 < said.length && said[i + 1].atMs - (frames.at(-1)?.atMs ?? -Infinity) < FRAME_MS;
    if (!isFollowed) frames.push({ atMs, lines: screen.visible() });
  });
  return frames;
}

/** The frames are one long film that jumps upwards; lines that occur several times are in it once. @param {ReturnType<typeof framesOf>} frames */
function svgOf(frames) {
  const [width, height] = [COLUMNS * WIDTH + 2 * MARGIN, ROWS * HEIGHT + 2 * MARGIN];
  const lengthMs = (frames.at(-1)?.atMs ?? 0) + LAST_MS;
  const lines = [...new Set(frames.flatMap((frame) => frame.lines))].filter((line) => line !== '');
  const defined = lines.map((line, i) => `<text id="l${i}">${line}</text>`);
  const drawn = frames.map(({ lines: shown }, i) => {
    const y = (/** @type {number} */ row) => i * height + MARGIN + (row + 0.75) * HEIGHT;
    return shown
      .map((line, row) => (line === '' ? '' : `<use href="#l${lines.indexOf(line)}" y="${y(row)}"/>`))
      .join('');
  });
  const steps = frames.map(
    ({ atMs }, i) => `${((100 * atMs) / lengthMs).toFixed(2)}%{transform:translateY(${-i * height}px)}`,
  );
  const colours = {
    31: '#ff7b72',
    32: '#7ee787',
    33: '#e3b341',
    34: '#79c0ff',
    35: '#d2a8ff',
    36: '#76e3ea',
    90: '#8b949e',
  };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A run in a terminal">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}
.s1{font-weight:700}.s2{opacity:.65}${Object.entries(colours)
    .map(([code, colour]) => `.s${code}${code === '90' ? '' : `,.s${Number(code) + 60}`}{fill:${colour}}`)
    .join('')}
.film{transform:translateY(${-(frames.length - 1) * height}px);animation:film ${(lengthMs / 1000).toFixed(1)}s step-end infinite}
@keyframes film{${steps.join('')}}
@media (prefers-reduced-motion:reduce){.film{animation:none}}
</style>
<defs>${defined.join('\n')}</defs>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g transform="translate(${MARGIN} 0)"><g class="film">
${drawn.join('\n')}
</g></g>
</svg>
`;
}

const file = process.argv[2] ?? join(ROOT, 'docs', 'recording.svg');
const folder = mkdtempSync(join(tmpdir(), 'stress-recording-'));
try {
  const svg = svgOf(framesOf(await record(folder)));
  const paths = [ROOT, folder, `${homedir()}/`].filter((path) => svg.includes(path));
  if (paths.length > 0 || svg.length > MAX_BYTES)
    throw new Error(`${svg.length} bytes, and these paths: ${paths.join(', ') || 'none'}`);
  writeFileSync(file, svg);
  console.log(`${svg.length} bytes, ${COLUMNS} columns`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
