/** What a terminal shows: rows that do not wrap, the running interval, colours. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PORTS_WARNING } from '../helpers/cli.js';
import { CTRL_C, spawnOnTerminal } from '../helpers/pty.js';
import { temporaryFolder } from '../helpers/temporary.js';

const ARGS = ['-t', '5', '-o', '0', '-d', '20s', '--interval', '1s', '--threshold', 'tps>0,tps<0'];

/** What every line has shown in the end, and what was erased. @param {string} output */
function linesOf(output) {
  const parts = output.replaceAll(/\u001b\[\d+m/g, '').split('\r\n');
  const shown = parts.map((line) => line.split('\u001b[2K\r'));
  return { lines: shown.map((texts) => texts.at(-1) ?? ''), erased: shown.flatMap((texts) => texts.slice(0, -1)) };
}

for (const columns of [80, 120])
  for (const NO_COLOR of [undefined, '1'])
    test(`${columns} columns, ${NO_COLOR === undefined ? 'colours' : 'NO_COLOR'}`, async (t) => {
      const env = { TMPDIR: temporaryFolder(t), TERM: 'xterm-256color', NO_COLOR, FORCE_COLOR: undefined };
      const stress = spawnOnTerminal(ARGS, { columns, env });
      await stress.waitFor(/ {4}[1-9]\.\d s [^]* {4}[2-9]\.\d s [^\n]*\n/);
      stress.type(CTRL_C);
      const { code, output } = await stress.done;
      assert.equal(code, 99, output);
      const { lines, erased } = linesOf(output);
      assert.match(lines.join(' '), /^5 wallets \(0\.\.4 of .*\): workload counter at .*, for 20 s /);
      assert.equal(lines.filter((line) => /^Ctrl-C ends the load and prints the summary; /.test(line)).length, 1);
      const head = lines.find((line) => line.includes('elapsed')) ?? '';
      assert.deepEqual([head.includes('attempts'), head.includes('p50')], [columns > 80, false]);
      const rows = lines.filter((line) => /^ +\d+\.\d s /.test(line));
      assert.ok(rows.length >= 2);
      for (const line of [...lines, ...erased]) assert.ok(line.length <= columns || line.includes(PORTS_WARNING), line);
      const running = /^\ds of 20s, (20|1\d)s left {3}[\d,.]+ TPS {3}[\d,]+ verified {3}\d in flight$/;
      assert.match(erased.find((line) => running.test(line)) ?? erased.join('\n'), running);
      assert.ok(!lines.some((line) => / left {3}/.test(line)), 'each was erased');

      const colors = new Set(output.match(/\u001b\[\d+m/g));
      const expected = ['1', '2', '22', '31', '32', '33', '39'].map((code) => `\u001b[${code}m`);
      if (NO_COLOR === undefined) for (const color of expected.slice(0, 5)) assert.ok(colors.has(color), color);
      else assert.equal(colors.size, 0);
    });
