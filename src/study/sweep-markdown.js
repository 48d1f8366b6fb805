import { commandWords } from './plan.js';
import { sweepTables } from './sweep-tables.js';
import { notes } from './sweep-text.js';

/** @import { SweepFile } from './sweep-file.js' */

/**
 * A sweep for a document, with how it was made.
 */

/** @param {SweepFile} sweep */
export function sweepMarkdown(sweep) {
  const { startedAt, endedAt, end, environment, stress, beforeCell } = sweep;
  const tables = sweepTables(sweep).flatMap(({ title, head, rows }) => [
    ...(title === '' ? [] : [`## ${escaped(title)}`, '']),
    ...[row(head), `|${head.map((_, i) => (i === 0 ? ' --- |' : ' ---: |')).join('')}`, ...rows.map(row), ''],
  ]);
  const machine =
    environment === null
      ? []
      : [
          `- endpoint: ${escaped(environment.endpoint)}, ${escaped(environment.clientVersion ?? 'a client that does not say its version')}, chain ${environment.chainId ?? 'unknown'}`,
          `- generator: stress ${stress}, Node.js ${escaped(environment.node)}, ${environment.cores} cores of ${escaped(environment.cpu)}`,
        ];
  return [
    ...['# Sweep', '', ...tables],
    ...notes(sweep).flatMap((line) => (line === '' ? [] : [`- ${escaped(line)}`])),
    ...['', '## How it was made', '', '```sh', commandLine(sweep), '```', ''],
    ...[`- ${startedAt} to ${endedAt ?? '(not ended)'}, ${end}`, ...machine],
    ...(beforeCell == null ? [] : [`- before each run --before-cell, ${commandWords(beforeCell)}`]),
    '',
  ].join('\n');
}

/** @param {string[]} cells */
function row(cells) {
  return `| ${cells.map((cell) => escaped(cell.trim())).join(' | ')} |`;
}

/** Other people's words are text. @param {string} text */
function escaped(text) {
  return text.replace(/[\n\r]+/g, ' ').replace(/[\\|*_`<[\]]/g, '\\$&');
}

/** As it would be typed; secrets are not in it. @param {SweepFile} sweep */
export function commandLine({ preset, axes, options, repeat, restMs }) {
  const swept = axes.map(({ name, values }) => [name, values.join(',')]);
  const words = [
    ...(preset === null ? [] : [['preset', preset]]),
    ...swept,
    ...Object.entries(options).map(([name, value]) => [name, String(value)]),
    ...(repeat > 1 ? [['repeat', String(repeat)]] : []),
    ['rest', `${restMs}ms`],
  ];
  return `stress sweep ${words.map(([name, value]) => `--${name}=${quoted(value)}`).join(' ')}`;
}

/** For a shell. @param {string} text */
function quoted(text) {
  return /^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
