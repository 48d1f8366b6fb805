/** What stays of a run file when everything that differs from run to run is taken out: its members, and what they are. */

const STABLE = ['config', 'definitions', 'thresholds'];
/** Which of these are there, and what they say, depends on timing. */
const UNSTABLE = 'failures failureWords rpcCalls verdict warnings startedBy environment fullness words why'.split(' ');

/** @param {any} value @param {string} [key] @param {boolean} [isStable] @returns {any} */
export function masked(value, key = '', isStable = false) {
  if (UNSTABLE.includes(key) && !isStable) return Array.isArray(value) ? '<list>' : `<${typeof value}>`;
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return isStable ? value : '<number>';
  if (typeof value === 'string') return maskedText(value, isStable);
  const keepsFigures = isStable || STABLE.includes(key);
  if (Array.isArray(value)) {
    const members = value.map((member) => masked(member, '', keepsFigures));
    return keepsFigures ? members : distinct(members);
  }
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, masked(member, name, keepsFigures)]));
}

/** @param {string} text @param {boolean} isStable */
function maskedText(text, isStable) {
  if (/^[A-Za-z0-9+/]{40,}={0,2}$/.test(text)) return '<histogram>';
  const hidden = text
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/0x[0-9a-f]{6,}/gi, '<hex>')
    .replace(/(127\.0\.0\.1|localhost):\d+/g, '$1:<port>')
    .replace(/(?:\/[\w.@-]+){2,}\//g, '<folder>/');
  return isStable ? hidden : hidden.replace(/[\d,.]*\d/g, '<n>');
}

/** Intervals and events: how many there are differs, so that their forms are merged. @param {any[]} members */
function distinct(members) {
  return members.length === 0 ? [] : [members.reduce(mergeForms)];
}

/** What is null in some of them depends on timing. @param {any} a @param {any} b @returns {any} */
function mergeForms(a, b) {
  if (a === null || b === null) return a ?? b;
  if (Array.isArray(a) && Array.isArray(b)) return distinct([...a, ...b]);
  if (typeof a !== 'object' || typeof b !== 'object') return a === b ? a : [a, b].sort().join(' or ');
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return Object.fromEntries(names.map((name) => [name, mergeForms(a[name] ?? null, b[name] ?? null)]));
}

/** @param {any} base @param {any} other @param {string} [at] @returns {Record<string, any>} what differs, by JSON pointer */
export function differences(base, other, at = '') {
  const shapeOf = (/** @type {any} */ one) => (Array.isArray(one) ? one.length : one === null ? 'null' : typeof one);
  if (shapeOf(base) !== shapeOf(other) || typeof base !== 'object' || base === null)
    return JSON.stringify(base) === JSON.stringify(other) ? {} : { [at]: other === undefined ? '<absent>' : other };
  const names = [...new Set([...Object.keys(base), ...Object.keys(other)])].sort();
  return Object.assign({}, ...names.map((name) => differences(base[name], other[name], `${at}/${name}`)));
}
