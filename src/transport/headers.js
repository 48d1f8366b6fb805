import { readFileSync } from 'node:fs';
import { InputError, UsageError, displayName, errnoWords } from '../errors.js';

/** @import { HeaderField, Headers } from '../contracts/chain.d.ts' */

/**
 * Headers of the user: their form, and the file that they may be in. They are secrets: no message has a value.
 */

/** A name is a token, and a value is Latin-1 without control characters (RFC 9110, section 5). */
const FORM =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\x20-\x7e\xa0-\xff](?:[\t\x20-\x7e\xa0-\xff]*[\x21-\x7e\xa0-\xff])?)$/;

/** They belong to the message and the connection, which the transport makes. */
const OF_TRANSPORT =
  /^(host|content-(length|type)|connection|proxy-connection|keep-alive|transfer-encoding|te|trailer|expect|upgrade|sec-websocket-.*)$/;

const SECRET_NAMES = /auth|cookie|key|token|secret|pass|cred|session|sign|jwt/;
const SECRET_VALUES = /^(bearer|basic|digest) /i;

/** @param {string} text @returns {HeaderField} @throws {Error} whose message goes behind the name of its source */
export function header(text) {
  const [, given, value] = FORM.exec(text.trim()) ?? [];
  if (given === undefined)
    throw new Error('must be NAME: VALUE, without line breaks, control characters and characters outside of Latin-1');
  const name = given.toLowerCase();
  if (OF_TRANSPORT.test(name)) throw new Error(`must not have the header ${given}, which stress sets itself`);
  return Object.freeze(/** @type {const} */ ([name, value]));
}

/** The command line is visible to all users of the machine. @param {string} text @param {string} [places] for secrets */
export function literalHeader(text, places = 'STRESS_HEADER or --header-file') {
  const [name, value] = header(text);
  if (SECRET_NAMES.test(name) || SECRET_VALUES.test(value))
    throw new Error(
      `must not have the secret header ${name}, because every user of this machine can read the command line: give it in ${places}`,
    );
}

/** The same for user and password in a URL. @param {string} text @param {string} places for secrets */
export function literalUrl(text, places) {
  const { username, password } = URL.canParse(text) ? new URL(text) : { username: '', password: '' };
  if (username + password !== '')
    throw new Error(
      `must not have a user or a password in it, because every user of this machine can read the command line: give it in ${places}`,
    );
}

/**
 * @param {{header: readonly HeaderField[], headerFile: string | null}} config
 * @returns {Headers}
 * @throws {InputError | UsageError}
 */
export function headersOf({ header: given, headerFile }) {
  /** @type {Headers} */
  const headers = {};
  for (const [name, value] of [...given, ...(headerFile === null ? [] : readHeaderFile(headerFile))]) {
    if (Object.hasOwn(headers, name)) throw new UsageError(`the header ${name} is given twice: once is enough`);
    headers[name] = value;
  }
  return headers;
}

/** @param {string} file @returns {HeaderField[]} */
function readHeaderFile(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError(`cannot read the header file ${displayName(file)}: ${errnoWords(error)}`);
  }
  return text.split(/\r?\n/).flatMap((line, i) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    try {
      return [header(line)];
    } catch (error) {
      throw new InputError(`${displayName(file)}, line ${i + 1} ${/** @type {Error} */ (error).message}`);
    }
  });
}
