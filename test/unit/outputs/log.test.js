import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { OutputError } from '../../../src/errors.js';
import { createLog } from '../../../src/outputs/log.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { Logger } from 'pino'
 */

const SECRET = '1a'.repeat(32);
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
 * @param {(log: Logger) => void} write
 * @param {string} [logLevel] of the file it is the same or, for warn, info
 */
async function logged(t, write, logLevel = 'warn') {
  const logFile = join(temporaryFolder(t), 'log');
  const log = createLog({
    logLevel,
    logFile,
    quiet: true,
    hasScreen: false,
    secretKeys: ['mnemonic', 'fundFrom', 'keys'],
  });
  write(log);
  log.fatal(LAST);
  const all = await whenWritten(logFile);
  const text = all.slice(0, all.lastIndexOf('\n', all.length - 2) + 1);
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  return { text, lines };
}

describe('createLog(): the file', () => {
  it('holds one JSON object a line', async (t) => {
    const { lines } = await logged(t, (log) => {
      log.info({ wallets: 5 }, 'funded');
      log.warn('careful');
    });
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [
        [30, 'funded'],
        [40, 'careful'],
      ],
    );
    assert.equal(lines[0].wallets, 5);
    for (const { time } of lines) assert.ok(Math.abs(time - Date.now()) < 60_000);
  });

  it('has more detail than the screen by default, otherwise the chosen level', async (t) => {
    const write = (/** @type {Logger} */ log) => {
      log.debug('debug');
      log.info('info');
      log.warn('warn');
    };
    const said = async (/** @type {string} */ level) => (await logged(t, write, level)).lines.map(({ msg }) => msg);
    assert.deepEqual(await said('warn'), ['info', 'warn']);
    assert.deepEqual(await said('info'), ['info', 'warn']);
    assert.deepEqual(await said('debug'), ['debug', 'info', 'warn']);
    assert.deepEqual(await said('error'), []);
  });

  it('is appended to', async (t) => {
    const logFile = join(temporaryFolder(t), 'log');
    for (const name of ['first', 'second']) {
      createLog({ logLevel: 'warn', logFile, quiet: true, secretKeys: [] }).info(name);
      await whenWritten(logFile, name);
    }
    assert.equal(readFileSync(logFile, 'utf8').trim().split('\n').length, 2);
  });

  it('that cannot be written is found at once', async (t) => {
    const logFile = join(temporaryFolder(t), 'no', 'log');
    const error = await caught(() => createLog({ logLevel: 'warn', logFile, quiet: true, secretKeys: [] }));
    assert.ok(error instanceof OutputError, String(error));
    assert.match(error.message, /^cannot write the log file .*no\/log: /);
  });
});

describe('createLog(): secrets', () => {
  for (const name of ['privateKey', 'mnemonic', 'fundFrom', 'keys', 'authorization', 'password']) {
    it(`${name} is not shown`, async (t) => {
      const { text, lines } = await logged(t, (log) => {
        log.info({ [name]: SECRET }, 'at the top');
        log.info({ config: { [name]: SECRET, threads: 5 } }, 'one level down');
        log.child({ [name]: SECRET }).info('of a child');
      });
      assert.ok(!text.includes(SECRET), text);
      assert.equal(lines.length, 3);
      assert.equal(lines[0][name], '[redacted]');
      assert.equal(lines[1].config.threads, 5);
    });
  }

  it('further down, and in arrays', async (t) => {
    const { text } = await logged(t, (log) => {
      log.info({ run: { config: { mnemonic: SECRET } } }, 'two levels down');
      log.info({ wallets: [{ privateKey: SECRET }] }, 'in an array');
    });
    assert.ok(!text.includes(SECRET), text);
  });
});

describe('createLog(): secrets however deep', () => {
  const NAMES = [
    'privateKey',
    'mnemonic',
    'fundFrom',
    'keys',
    'authorization',
    'password',
    'PASSWORD',
    'Authorization',
  ];

  it('in objects, arrays and errors, thirty levels down', async (t) => {
    const { lines } = await logged(t, (log) => {
      for (const name of NAMES) {
        /** @type {any} */
        let value = { [name]: SECRET };
        for (let depth = 0; depth <= 30; depth += 1) {
          log.info({ value }, `${name}, ${depth} levels down`);
          const wraps = [{ inner: value }, [value], Object.assign(new Error('broken', { cause: value }), { value })];
          value = wraps[depth % wraps.length];
        }
      }
    });
    assert.equal(lines.length, NAMES.length * 31);
    for (const line of lines) assert.ok(!JSON.stringify(line).includes(SECRET), line.msg);
  });

  it('other values are logged: errors with causes, URLs without credentials, large numbers, instants', async (t) => {
    const error = new Error('broken', { cause: new RangeError('too far') });
    const url = new URL('https://user:hunter2hunter2@h.org/v3/0123456789abcdef0123456789abcdef?apikey=abc');
    const { text, lines } = await logged(t, (log) => {
      log.info({ url, paidWei: 5n, at: new Date(0), bytes: Buffer.from(SECRET), none: null }, 'all');
      log.error(error);
    });
    const [all, failure] = lines;
    assert.deepEqual(
      [all.url, all.paidWei, all.at, all.bytes, all.none],
      ['https://***@h.org/v3/***?***', '5', '1970-01-01T00:00:00.000Z', '[bytes]', null],
    );
    assert.doesNotMatch(text, /hunter2|0123456789abcdef|apikey/);
    assert.equal(failure.msg, 'broken');
    assert.match(failure.err.message, /^broken.*too far$/);
  });

  it('what leads back to itself ends', async (t) => {
    /** @type {any} */
    const circle = { name: 'circle' };
    circle.self = circle;
    const { lines } = await logged(t, (log) => log.info({ circle }, 'round'));
    assert.equal(lines[0].circle.self.name, 'circle');
  });
});

describe('createLog(): the screen', () => {
  /**
   * @param {string} statement with `log` and `secret`
   * @param {{logLevel?: string, quiet?: boolean, logFormat?: string, env?: NodeJS.ProcessEnv}} [options]
   */
  function onScreen(statement, { logLevel = 'warn', quiet = false, logFormat = 'text', env = {} } = {}) {
    const script = `
      const { createLog } = await import(${JSON.stringify(LOG)});
      const secret = ${JSON.stringify(SECRET)};
      const options = { logFile: null, quiet: ${quiet}, secretKeys: [], logFormat: ${JSON.stringify(logFormat)} };
      const log = createLog({ logLevel: ${JSON.stringify(logLevel)}, ...options });
      ${statement}`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, ...env },
    });
    assert.equal(stdout, '');
    return stderr;
  }

  it('is standard error, for people: no colours in a pipe, no secrets', () => {
    const text = onScreen("log.warn({ privateKey: secret, wallets: 5 }, 'careful'); log.info('not this');");
    assert.match(text, /^WARN: careful \{.*"wallets":5.*\}\n$/);
    assert.ok(!text.includes(SECRET));
    assert.doesNotMatch(text, /\u001b/);
  });

  it('--log-format json: a line of JSON each, without secrets', () => {
    const text = onScreen("log.warn({ privateKey: secret, wallets: 5 }, 'careful');", { logFormat: 'json' });
    const { level, wallets, msg, privateKey } = JSON.parse(text);
    assert.deepEqual([level, wallets, msg, privateKey], [40, 5, 'careful', '[redacted]']);
    assert.equal(text.split('\n').length, 2);
  });

  it('has colours with FORCE_COLOR, and NO_COLOR wins', () => {
    const statement = "log.warn('careful');";
    assert.match(onScreen(statement, { env: { FORCE_COLOR: '1' } }), /\u001b\[33mWARN\u001b\[39m/);
    assert.equal(onScreen(statement, { env: { FORCE_COLOR: '1', NO_COLOR: '1' } }), 'WARN: careful\n');
  });

  it('with --quiet only errors', () => {
    assert.equal(onScreen("log.warn('careful'); log.error('broken');", { quiet: true }), 'ERROR: broken\n');
  });

  it('nothing at all when it is silent', () => {
    assert.equal(onScreen("log.error('broken');", { logLevel: 'silent' }), '');
  });
});
