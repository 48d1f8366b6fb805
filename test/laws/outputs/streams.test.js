import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { OutputStream } from '../../../src/outputs/streams.js';
import { temporaryFolder } from '../../helpers/temporary.js';

const STREAMS = new URL('../../../src/outputs/streams.js', import.meta.url).href;

/** A reader that takes nothing before it is told to. */
function unread() {
  let text = '';
  let isReading = false;
  let resume = () => {};
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk, _, done) => {
      text += chunk;
      if (isReading) done();
      else resume = done;
    },
  });
  const read = () => {
    isReading = true;
    resume();
  };
  return { stream, read, text: () => text };
}

describe('OutputStream', () => {
  it('lines that are not read are dropped and counted; what is written is not', async () => {
    const { stream, read, text } = unread();
    const output = new OutputStream(stream);
    const line = 'x'.repeat(99);
    for (let i = 0; i < 100_000; i += 1) output.offer(line);
    assert.ok(stream.writableLength < 1.1 * 2 ** 20, `${stream.writableLength} characters wait`);
    output.write('the summary\n');
    read();
    await output.written();
    const lines = text().split('\n').slice(0, -1);
    const kept = lines.filter((one) => one === line).length;
    const [, dropped] = /^\.\.\. ([\d,]+) lines dropped: the output was not read$/.exec(lines.at(-2) ?? '') ?? [];
    assert.equal(kept + Number(dropped?.replaceAll(',', '')), 100_000);
    assert.ok(kept > 10_000);
    assert.equal(lines.at(-1), 'the summary');
  });

  it('continues when it is read again, and reports the dropped lines once', async () => {
    const { stream, read, text } = unread();
    const output = new OutputStream(stream);
    for (let i = 0; i < 20_000; i += 1) output.offer('x'.repeat(99));
    read();
    await output.written();
    for (const line of ['first', 'second']) output.offer(line);
    await output.written();
    assert.match(text(), /\n\.\.\. [\d,]+ lines dropped: .*\nfirst\nsecond\n$/);
  });

  it('after an error nothing is waited for', async () => {
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error('write EPIPE')) });
    const output = new OutputStream(stream);
    output.write('text');
    await output.written();
    output.offer('more');
    await output.written();
  });
});

describe('standard output and standard error', () => {
  it('of one file keep the order of lines, and all of it', (t) => {
    const file = join(temporaryFolder(t), 'log');
    const script = `
      import { stderr, stdout } from ${JSON.stringify(STREAMS)};
      for (let i = 0; i < 200; i += 2) {
        stdout.write(i + '\\n');
        stderr.write(i + 1 + '\\n');
      }`;
    execFileSync('sh', ['-c', '"$0" --input-type=module --eval "$1" > "$2" 2>&1', process.execPath, script, file]);
    assert.deepEqual(
      readFileSync(file, 'utf8').split('\n').slice(0, -1).map(Number),
      Array.from({ length: 200 }, (_, i) => i),
    );
  });
});
