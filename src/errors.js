/**
 * Every error that this program raises on purpose, each with a stable `code` and the exit code of the process. A message
 * is one line, `<what failed>: <why>; <what to do>`, and never contains a key.
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

/** Zero-width and bidirectional control characters. */
export const UNSEEN_CHARACTERS = /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+/g;

/** The same, and the control characters of terminals. */
const CONTROL_CHARACTERS =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+/g;

/** Text from outside without control characters, cut to the limit. @param {string} text @param {number} limit in characters */
export function withoutControl(text, limit) {
  return text.slice(0, limit).replace(CONTROL_CHARACTERS, ' ');
}

/** Least number of characters of a text that are searched for secrets; the rest is cut off. */
const MIN_SEARCHED_CHARS = 4096;

/**
 * Text from outside for one line of a terminal or a log: without control characters and credentials, and cut to the
 * limit.
 * @param {unknown} text
 * @param {number} [limit] of the result, in characters
 * @param {readonly string[]} [secrets] to hide
 */
export function oneLine(text, limit = 300, secrets = []) {
  const searched = Math.max(MIN_SEARCHED_CHARS, 2 * limit);
  const whole = typeof text === 'object' && text !== null ? stringify(text) : String(text);
  const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), whole.slice(0, searched));
  // The end may be the first part of a secret, which was not recognised.
  const longest = Math.max(0, ...secrets.map(({ length }) => length));
  const isCut = whole.length > searched;
  const start = isCut
    ? `${hidden.slice(0, Math.max(0, hidden.length - longest)).replace(/\S{1,200}$/, '')}...`
    : hidden;
  const line = withoutCredentials(start.replace(CONTROL_CHARACTERS, ' ').trim());
  return line.length > limit ? `${line.slice(0, limit)}...` : line;
}

/** An object from JSON may have its own toString, or be nested too deeply. @param {unknown} value */
function stringify(value) {
  try {
    return value instanceof Error ? String(value) : JSON.stringify(value);
  } catch {
    return '(nested too deeply)';
  }
}

/**
 * Endpoints repeat the request and its URL. Hidden are user, password, query, long parts of a path, the value of an
 * authorization, and long words of letters and digits except hashes, which start with 0x.
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

/** Hides what may be a key, a mistyped key or a mnemonic. @param {string} text */
export function withoutKeys(text) {
  return text
    .replace(/(?=\d*[a-z])[0-9a-z]{32,}|(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{16,}/gi, '***')
    .replace(/\b(?:[a-z]{3,8}\s+){3,}[a-z]{3,8}\b/gi, '***');
}

/** A file's name for messages. A key or mnemonic may have been given in its place. @param {string} name */
export function displayName(name) {
  const last = name.split('/').at(-1) ?? '';
  const mayBeSecret = /[0-9a-z]{32,}/i.test(last) || name.trim().split(/\s+/).length >= 6 || withoutKeys(last) !== last;
  return mayBeSecret ? '(a name that may be a secret)' : oneLine(name);
}

/** @type {Readonly<Record<string, string>>} */
const ERRNO_WORDS = Object.freeze({
  ENOENT: 'no such file',
  ENOTDIR: 'its folder is a file',
  EEXIST: 'a file is in the way',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'its size limit is reached (ulimit -f)',
  EROFS: 'the file system is read-only',
  ERR_FS_FILE_TOO_LARGE: 'it is too large',
  ERR_STRING_TOO_LONG: 'it is too large',
  EADDRINUSE: 'the port is taken',
  EADDRNOTAVAIL: 'that is no address of this machine',
  ENOTFOUND: 'that is no address of this machine',
});

/** Why the system refused something. Its own message may repeat the name of a file, which may be a secret. @param {unknown} error */
export function errnoWords(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return ERRNO_WORDS[code ?? ''] ?? code ?? oneLine(message);
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

/** @param {string} code @param {number} exitCode */
function errorClass(code, exitCode) {
  return class extends StressError {
    /** @param {string} message @param {unknown} [cause] */
    constructor(message, cause) {
      super(message, code, exitCode, cause);
    }
  };
}

/** Invalid options, environment variables, or combinations of them. */
export class UsageError extends errorClass('usage', EXIT.usage) {}

/** An input file cannot be read or is invalid. */
export class InputError extends errorClass('bad_input', EXIT.badInput) {}

/** A user's workload file is invalid or failed during the run. The message names the file, and the line if it is known. */
export class WorkloadError extends StressError {
  /** @param {string} message @param {string | null} [details] lines to show unchanged, such as a compiler's */
  constructor(message, details = null) {
    super(message, 'workload_error', EXIT.badInput);
    this.details = details;
  }
}

/** An output cannot be written. */
export class OutputError extends errorClass('cannot_write', EXIT.cannotWrite) {}

/** The endpoint is not available, or the chain lacks what a run needs, such as funds. */
export class UnavailableError extends errorClass('unavailable', EXIT.unavailable) {}

/** Wallets have less than the run may need. */
export class FundsError extends UnavailableError {}

/** An invariant of this program is violated, which is a bug. */
export class InternalError extends errorClass('internal', EXIT.internal) {}

/** The common start of the instances was missed, or a merge lacks some of them. */
export class IncompleteError extends errorClass('incomplete', EXIT.incomplete) {}

/** A mined transaction of a wallet of this slice was not sent by this run. */
export class ForeignSenderError extends errorClass('foreign_sender', EXIT.notExact) {}

/** To continue could do harm, and the user has not clearly asked for it. */
export class RefusedError extends errorClass('refused', EXIT.refused) {}

/** The user interrupted the set-up. */
export class InterruptedError extends StressError {
  /** @param {string} message @param {number} [exitCode] */
  constructor(message, exitCode = EXIT.interrupted) {
    super(message, 'interrupted', exitCode);
  }
}

/** No answer came: refused, reset, timed out. Whether the node received the request is unknown. */
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

/** The answer is not JSON-RPC 2.0, or belongs to another request. */
export class ProtocolError extends StressError {
  /**
   * @param {string} message
   * @param {unknown} [cause]
   * @param {number} [status] HTTP status code
   * @param {number | null} [retryAfterMs] the wait that the endpoint asked for
   * @param {boolean} [isLimit] whether it is a rate limit
   */
  constructor(message, cause, status = 200, retryAfterMs = null, isLimit = status === 429) {
    super(message, 'protocol', EXIT.unavailable, cause);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isLimit = isLimit;
    /** Too many requests, or a gateway without a node: a retry may succeed. */
    this.isBusy = isLimit || status >= 500;
  }
}

/** The answer differs from what a check expects. */
export class CheckError extends StressError {
  /**
   * @param {string} message
   * @param {'check_failed' | 'check_unavailable' | 'answers_differ'} [code] check_unavailable: the reference is missing
   * @param {string | null} [request] such as "eth_call, line 7": the words of the first failure of each are kept
   */
  constructor(message, code = 'check_failed', request = null) {
    super(message, code, EXIT.nothingVerified);
    this.request = request;
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
   * @param {string} [asked] the method that the endpoint was asked (--send-method)
   */
  constructor(method, rpcCode, rpcMessage, data, reply = { status: 200, retryAfterMs: null }, asked = method) {
    super(`${asked}: ${rpcMessage} (${rpcCode})`, 'rpc_error', EXIT.unavailable);
    this.method = method;
    this.rpcCode = rpcCode;
    this.rpcMessage = rpcMessage;
    this.data = data;
    /** The status of HTTP. */
    this.status = reply.status;
    /** The wait that the endpoint asked for. */
    this.retryAfterMs = reply.retryAfterMs;
  }
}

/**
 * The exit code if several apply. Untrustworthy figures (bug, audit) come before bad figures (threshold), and an
 * interrupt comes last because the user knows about it.
 * @param {number[]} codes
 */
export function worstExit(codes) {
  const order = [
    ...[EXIT.internal, EXIT.notExact, EXIT.thresholdFailed],
    ...[EXIT.interrupted, EXIT.terminated, EXIT.hangup],
  ];
  return order.find((code) => codes.includes(code)) ?? codes.find((code) => code !== EXIT.ok) ?? EXIT.ok;
}
