/**
 * Every error this program raises on purpose, each with a stable `code` and the exit code it ends the
 * process with. A message is one line: what is wrong, and what to do about it. It never carries a key.
 */

/** Exit codes. Where sysexits(3) has a name for the case, the number is its number. */
export const EXIT = Object.freeze({
  ok: 0,
  nothingVerified: 1,
  usage: 64,
  badInput: 65,
  unavailable: 69,
  internal: 70,
  cannotWrite: 73,
  incomplete: 75,
  notExact: 76,
  refused: 77,
  thresholdFailed: 99,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
});

/** Those that nobody sees: of no width, or turning the direction of what follows. */
export const UNSEEN_CHARACTERS = /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+/g;

/** Those, and those that drive a terminal. */
const CONTROL_CHARACTERS =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+/g;

/** Text from outside as it may stand in a file. @param {string} text @param {number} limit in characters */
export function withoutControl(text, limit) {
  return text.slice(0, limit).replace(CONTROL_CHARACTERS, ' ');
}

/** The code of a JSON-RPC error: more was asked than the node wants to answer just now (EIP-1474). */
const LIMIT_EXCEEDED = -32005;

/** More than this of a text is not looked at: none of it would be shown. */
const LONGEST_LOOK = 4096;

/**
 * Text that came from outside, made safe for one line of a terminal and for a log: no control or escape characters,
 * no credentials, bounded in length.
 * @param {unknown} text
 * @param {number} [limit] longest result, in characters
 * @param {readonly string[]} [secrets] that whoever said it knows: hidden wherever they stand
 */
export function oneLine(text, limit = 300, secrets = []) {
  const look = Math.max(LONGEST_LOOK, 2 * limit);
  const whole = typeof text === 'object' && text !== null ? wordsOf(text) : String(text);
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), whole.slice(0, look));
  // A secret that is cut in two would not be recognised.
  const longest = Math.max(0, ...secrets.map(({ length }) => length));
  const isCut = whole.length > look;
  const start = isCut ? `${known.slice(0, Math.max(0, known.length - longest)).replace(/\S{1,200}$/, '')}...` : known;
  const line = withoutCredentials(start.replace(CONTROL_CHARACTERS, ' ').trim());
  return line.length > limit ? `${line.slice(0, limit)}...` : line;
}

/** An object, as JSON gives one, may have a toString of its own or be nested too deeply. @param {unknown} value */
function wordsOf(value) {
  try {
    return value instanceof Error ? String(value) : JSON.stringify(value);
  } catch {
    return '(nested too deeply)';
  }
}

/**
 * Endpoints repeat what they were asked, and with which URL: user, password, query and long parts of a path are hidden,
 * and so are what follows the name of an authorization and long words that are no hash, which begins with 0x.
 * @param {string} text
 */
function withoutCredentials(text) {
  return text
    .replace(/\b(basic|bearer)\s+[\w.~+/=-]+/gi, '$1 ***')
    .replace(/\/\/[^\s/?#@"']*@/g, '//***@')
    .replace(/(?<=:\/\/[^\s"']{0,1000}\/)[^\s/?#"']{20,}/g, '***')
    .replace(/(?<=\/v\d\/)[0-9a-z]{20,}/gi, '***')
    .replace(/([?&][\w.-]{1,50}=)[^\s&#"'*]+/g, '$1***')
    .replace(/(?<![0-9a-z/])(?!0x)(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{32,}/gi, '***');
}

/**
 * What was typed by mistake may be a key, one with a wrong character in it too, or a mnemonic.
 * @param {string} text
 */
export function withoutKeys(text) {
  return text
    .replace(/(?=\d*[a-z])[0-9a-z]{32,}|(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{16,}/gi, '***')
    .replace(/\b(?:[a-z]{3,8}\s+){3,}[a-z]{3,8}\b/gi, '***');
}

/**
 * A file's name as messages may show it: what was given in its place may be a key or a mnemonic.
 * @param {string} name
 */
export function displayName(name) {
  const last = name.split('/').at(-1) ?? '';
  const mayBeSecret = /[0-9a-z]{32,}/i.test(last) || name.trim().split(/\s+/).length >= 6 || withoutKeys(last) !== last;
  return mayBeSecret ? '(a name that may be a secret)' : oneLine(name);
}

/** The base class: `code` is for programs, `exitCode` for the shell, `message` for people. */
export class StressError extends Error {
  /**
   * @param {string} message
   * @param {string} code
   * @param {number} exitCode
   * @param {unknown} [cause]
   */
  constructor(message, code, exitCode, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** A flag, an environment variable or a combination of them makes no sense. */
export class UsageError extends StressError {
  /** @param {string} message */
  constructor(message) {
    super(message, 'usage', EXIT.usage);
  }
}

/** A file that was given to us cannot be read or understood. */
export class InputError extends StressError {
  /** @param {string} message @param {unknown} [cause] */
  constructor(message, cause) {
    super(message, 'bad_input', EXIT.badInput, cause);
  }
}

/** A workload of the user's own cannot be used, or went wrong in mid-run; its file is named, and the line where it is known. */
export class WorkloadError extends StressError {
  /** @param {string} message @param {string | null} [details] lines to be shown as they are, such as a compiler's */
  constructor(message, details = null) {
    super(message, 'workload_error', EXIT.badInput);
    this.details = details;
  }
}

/** A place we were told to write to cannot be written. */
export class OutputError extends StressError {
  /** @param {string} message @param {unknown} [cause] */
  constructor(message, cause) {
    super(message, 'cannot_write', EXIT.cannotWrite, cause);
  }
}

/** The endpoint, or what a run needs on it (funds, settled wallets), is not there. */
export class UnavailableError extends StressError {
  /** @param {string} message @param {unknown} [cause] */
  constructor(message, cause) {
    super(message, 'unavailable', EXIT.unavailable, cause);
  }
}

/** Wallets have less than a run may need. */
export class FundsError extends UnavailableError {}

/** A law of our own was broken, conservation for instance: a bug of ours. */
export class InternalError extends StressError {
  /** @param {string} message @param {unknown} [cause] */
  constructor(message, cause) {
    super(message, 'internal', EXIT.internal, cause);
  }
}

/** Not all instances of a run are there: its common start was missed, or its merge would lack some. */
export class IncompleteError extends StressError {
  /** @param {string} message */
  constructor(message) {
    super(message, 'incomplete', EXIT.incomplete);
  }
}

/** A mined transaction of the wallets of this slice is not of this run. */
export class ForeignSenderError extends StressError {
  /** @param {string} message */
  constructor(message) {
    super(message, 'foreign_sender', EXIT.notExact);
  }
}

/** Going on could harm something that we were not clearly pointed at. */
export class RefusedError extends StressError {
  /** @param {string} message */
  constructor(message) {
    super(message, 'refused', EXIT.refused);
  }
}

/** The user asked for an end while something was still being set up. */
export class InterruptedError extends StressError {
  /** @param {string} message @param {number} [exitCode] */
  constructor(message, exitCode = EXIT.interrupted) {
    super(message, 'interrupted', exitCode);
  }
}

/** No answer came back: refused, reset, timed out. Whether the node has the request is unknown. */
export class TransportError extends StressError {
  /**
   * @param {string} message
   * @param {string} reason short and stable, for instance `timeout` or `econnreset`
   * @param {unknown} [cause]
   */
  constructor(message, reason, cause) {
    super(message, `transport_${reason}`, EXIT.unavailable, cause);
  }
}

/** An answer came back that is not JSON-RPC 2.0, or not the answer to what was asked. */
export class ProtocolError extends StressError {
  /**
   * @param {string} message
   * @param {unknown} [cause]
   * @param {number} [status] HTTP status code
   * @param {number | null} [retryAfterMs] how long the endpoint asks to be left alone
   */
  constructor(message, cause, status = 200, retryAfterMs = null) {
    super(message, 'protocol', EXIT.unavailable, cause);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    /** Too many requests, or a gateway without a node behind it: it may be well again in a moment. */
    this.isBusy = status === 429 || status >= 500;
  }
}

/** An answer came back, and it is not what it must be. */
export class CheckError extends StressError {
  /** @param {string} message @param {'check_failed' | 'check_unavailable'} [code] the latter: what it is held against is not there */
  constructor(message, code = 'check_failed') {
    super(message, code, EXIT.nothingVerified);
  }
}

/** The node answered with a JSON-RPC error object. */
export class RpcError extends StressError {
  /**
   * @param {string} method
   * @param {number} rpcCode the `code` member of the error object
   * @param {string} rpcMessage the `message` member, made safe for a terminal
   * @param {unknown} [data] the `data` member
   * @param {{status: number, retryAfterMs: number | null}} [reply] what it came with
   */
  constructor(method, rpcCode, rpcMessage, data, { status, retryAfterMs } = { status: 200, retryAfterMs: null }) {
    super(`${method}: ${rpcMessage} (${rpcCode})`, 'rpc_error', EXIT.unavailable);
    this.method = method;
    this.rpcCode = rpcCode;
    this.rpcMessage = rpcMessage;
    this.data = data;
    /** How long the endpoint asks to be left alone. */
    this.retryAfterMs = retryAfterMs;
    /** It is asked too much just now. */
    this.isBusy = rpcCode === LIMIT_EXCEEDED || status === 429 || status === 503;
  }
}

/**
 * The exit code that wins when several apply: our bug, then the audit, then a threshold, then an interrupt: figures
 * that cannot be trusted come before figures that are not good enough, and who interrupts a run knows it.
 * @param {number[]} codes
 */
export function worstExit(codes) {
  const order = [
    ...[EXIT.internal, EXIT.notExact, EXIT.thresholdFailed],
    ...[EXIT.interrupted, EXIT.terminated, EXIT.hangup],
  ];
  return order.find((code) => codes.includes(code)) ?? codes.find((code) => code !== EXIT.ok) ?? EXIT.ok;
}
