import { OF_THE_STUDY, OPTIONS, VARIABLES } from './options.js';
import { axisTexts, bracketTexts } from './parse.js';

/**
 * @import { Axis, Searched, StudyOptions } from '../types.d.ts'
 * @import { Found } from './config.js'
 * @import { Option } from './options.js'
 */

/**
 * What a study gives to the runs that it starts.
 */

/** Collects what is found, option by option. */
export class StudyBuilder {
  /** @type {Axis[]} */
  #axes = [];
  /** @type {string | null} */
  #alike = null;
  /** @type {string[]} */
  #flags = [];
  /** @type {StudyOptions['bracket']} */
  #bracket = null;
  /** What a sweep sets itself in each of its runs. @type {Set<string>} */
  #varied = new Set();
  /** @type {Record<string, string>} */
  #options = {};
  /** @type {NodeJS.ProcessEnv} */
  #env;

  /** @param {NodeJS.ProcessEnv} env */
  constructor(env) {
    this.#env = Object.fromEntries(Object.entries(env).filter(([name]) => !VARIABLES.includes(name)));
  }

  /** @param {Option} option @param {Found} found @param {string | null} searched the name of the option that is searched for @returns {string[]} its values, each as if it had been given alone */
  textsOf(option, { text, label }, searched) {
    if (option.name === searched) {
      const [from, to] = bracketTexts(text);
      this.#bracket = { from, to };
      this.#varied.add(option.name);
      return to === null ? [from] : [from, to];
    }
    if (!option.isAxis) return [text];
    const texts = axisTexts(text, label);
    if (texts.length > 1) {
      this.#axes.push({ name: option.name, values: Object.freeze(texts) });
      this.#varied.add(option.name);
    } else if (texts[0] !== text.trim()) this.#alike ??= `${label} ${text}`;
    return texts;
  }

  /** @param {Option} option @param {Found} found @param {string} shown its text as it may be shown */
  add(option, { text, where }, shown) {
    if (where === 'flag') this.#flags.push(option.name);
    if (where === 'default' || !option.commands.includes('run') || OF_THE_STUDY.has(option.key)) return;
    if (this.#varied.has(option.name)) return;
    this.#env[option.variable] = text;
    if (option.role !== 'secret') this.#options[option.name] = shown;
  }

  /** @param {string | null} searched @returns {StudyOptions} */
  build(searched) {
    return Object.freeze({
      axes: Object.freeze(this.#axes),
      alike: this.#alike,
      flags: Object.freeze(this.#flags),
      searched: searchedOf(searched),
      bracket: this.#bracket,
      options: Object.freeze(this.#options),
      env: Object.freeze(this.#env),
    });
  }
}

/** @param {string | null} name @returns {Searched | null} null: no option, or one that cannot be searched for */
function searchedOf(name) {
  const { search, integer } = OPTIONS.find((one) => one.name === name) ?? {};
  const [lowest, highest] = search?.range ?? integer ?? [];
  if (name === null || search === undefined || lowest === undefined || highest === undefined) return null;
  return { name, ...search, lowest, highest };
}
