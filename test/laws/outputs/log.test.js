import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../../src/outputs/log.js';
import { equalBy } from '../../helpers/equal-by.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { Log } from '../../../src/contracts/common.d.ts'
 * @import { TestContext } from 'node:test'
 */

const LOG = new URL('../../../src/outputs/log.js', import.meta.url).href;

/** The last line that a test logs: the file is written beside the load. */
const LAST = 'the last line';

/** @param {string} file @param {string} [last] @returns {Promise<string>} its text when the last line is in it */
async function whenWritten(file, last = LAST) {
  let text = '';
  while (!text.includes(last)) {
    await sleep(1);
    text = readFileSync(file, 'utf8');
  }
  return text;
}

/**
 * @param {TestContext} t
 * @param {(log: Log) => void} write
 * @param {string} [logLevel] of the file it is the same or, for warn, info
 */
async function logged(t, write, logLevel = 'warn') {
  const logFile = join(temporaryFolder(t), 'log');
  const log = createLog({ logLevel, logFile, quiet: true, hasScreen: false });
  write(log);
  log.fatal(LAST, 70);
  const text = await whenWritten(logFile);
  const lines = text.trimEnd().split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

describe('createLog(): the file', () => {
  it('holds one JSON object a line', async (t) => {
    const lines = await logged(t, (log) => {
      log.info('funded');
      log.warn('careful');
    });
    equalBy(lines, ({ level, msg }) => [level, msg], [
      [30, 'funded'],
      [40, 'careful'],
    ]);
    for (const { time } of lines) assert.ok(Math.abs(time - Date.now()) < 60_000);
  });

  it('has more detail than the screen by default, otherwise the chosen level', async (t) => {
    const write = (/** @type {Log} */ log) => {
      log.info('info');
      log.warn('warn');
    };
    const said = async (/** @type {string} */ level) => (await logged(t, write, level)).map(({ msg }) => msg);
    assert.deepEqual(await said('warn'), ['info', 'warn']);
    assert.deepEqual(await said('info'), ['info', 'warn']);
    assert.deepEqual(await said('debug'), ['info', 'warn']);
    assert.deepEqual(await said('error'), []);
  });

  it('is appended to', async (t) => {
    const logFile = join(temporaryFolder(t), 'log');
    for (const name of ['first', 'second']) {
      createLog({ logLevel: 'warn', logFile, quiet: true }).info(name);
      await whenWritten(logFile, name);
    }
    assert.equal(readFileSync(logFile, 'utf8').trim().split('\n').length, 2);
  });

  it('that cannot be written is found at once', async (t) => {
    const logFile = join(temporaryFolder(t), 'no', 'log');
    await assert.rejects(async () => createLog({ logLevel: 'warn', logFile, quiet: true }), {
      name: 'OutputError',
      message: /^cannot write .*no\/log: its folder does not exist$/,
    });
  });
});

describe('createLog(): the screen', () => {
  /**
   * @param {string} statement with `log`
   * @param {{logLevel?: string, quiet?: boolean, logFormat?: string, env?: NodeJS.ProcessEnv}} [options]
   */
  function onScreen(statement, { logLevel = 'warn', quiet = false, logFormat = 'text', env = {} } = {}) {
    const script = `
      const { createLog } = await import(${JSON.stringify(LOG)});
      const options = { logFile: null, quiet: ${quiet}, logFormat: ${JSON.stringify(logFormat)} };
      const log = createLog({ logLevel: ${JSON.stringify(logLevel)}, ...options });
      ${statement}`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, ...env },
    });
    assert.equal(stdout, '');
    return stderr;
  }

  const both = "log.warn('careful'); log.error('broken');";
  /** @type {Array<[string, string, Parameters<typeof onScreen>[1], string]>} */
  const table = [
    ['is for people, without colours in a pipe', "log.warn('careful'); log.info('not this');", {}, 'WARN: careful\n'],
    ['with --quiet only errors', both, { quiet: true }, 'ERROR: broken\n'],
    ['nothing at all when it is silent', both, { logLevel: 'silent' }, ''],
  ];
  for (const [name, statement, options, expected] of table)
    it(name, () => assert.equal(onScreen(statement, options), expected));

  it('--log-format json: a line of JSON each', () => {
    const text = onScreen("log.warn('careful'); log.fatal('broken', 70)", { logFormat: 'json' });
    const lines = text.trimEnd().split('\n');
    equalBy(
      lines.map((line) => JSON.parse(line)),
      ({ level, exitCode, msg }) => [level, exitCode, msg],
      [
        [40, undefined, 'careful'],
        [60, 70, 'broken'],
      ],
    );
  });
});
