import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { InternalError } from '../errors.js';

/**
 * The script and the style of a page, as text that can stand in it. What is in client/ are modules like all others, so
 * that they can be linted, type-checked and imported by tests; here they become one plain script.
 */

const MAIN = new URL('./client/main.js', import.meta.url);
const STYLE = new URL('./client/page.css', import.meta.url);

/** uPlot allows no import of what is not its main file, so that these are found beside it. @param {string} name */
function uplotFile(name) {
  const { resolve } = createRequire(import.meta.url);
  return new URL(name, `file://${resolve('uplot')}`);
}

/** @returns {{script: string, style: string, policy: string}} policy: what a page may do that has them */
export function pageAssets() {
  const script = `${read(uplotFile('uPlot.iife.min.js'))}\n${bundle(MAIN)}`;
  const style = `${read(uplotFile('uPlot.min.css'))}\n${read(STYLE)}`;
  const policy = `default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; img-src data:`;
  return { script, style, policy: `${policy}; base-uri 'none'; form-action 'none'` };
}

/** @param {URL} file */
function read(file) {
  const text = readFileSync(file, 'utf8').trim();
  // It would end the element that it stands in.
  if (/<\/(script|style)/i.test(text)) throw new InternalError(`${file.pathname} cannot stand in a page`);
  return text;
}

/** @param {string} text */
function hashOf(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/**
 * A module and all that it imports, each in a function of its own that returns what it exports.
 * @param {URL} main
 */
export function bundle(main) {
  /** Names of the functions' results by module, in the order in which they run. @type {Map<string, string>} */
  const names = new Map();
  /** @type {string[]} */
  const parts = [];
  /** @param {URL} file @returns {string} */
  const add = (file) => {
    const known = names.get(file.href);
    if (known !== undefined) return known;
    const body = read(file).replace(IMPORT, (_, members, from) => {
      const name = add(new URL(from, file));
      return `const {${members.replaceAll(' as ', ': ')}} = ${name};`;
    });
    const name = `module${names.size}`;
    names.set(file.href, name);
    const exported = [...body.matchAll(EXPORT)].map(([, , word]) => word);
    parts.push(`const ${name} = (() => {\n${body.replace(EXPORT, '$1 $2')}\nreturn {${exported.join(', ')}};\n})();`);
    return name;
  };
  add(main);
  return `(() => {\n'use strict';\n${parts.join('\n')}\n})();`;
}

const IMPORT = /^import \{([^}]*)\} from '([^']+)';$/gm;
const EXPORT = /^export ((?:async )?function|class|const) (\w+)/gm;
