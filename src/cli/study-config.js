import { UsageError } from '../errors.js';
import { OF_THE_STUDY, OPTIONS, VARIABLES } from './options.js';
import { axisTexts, bracketTexts } from './parse.js';

/**
 * @import { Axis, Searched, StudyOptions } from '../contracts/study.d.ts'
 * @import { OptionValue } from './config.js'
 * @import { Option } from './options.js'
 */

/** Collects what a study gives to the runs that it starts, option by option. */
export class StudyBuilder {
  /** @type {{axes: Axis[], flags: string[], options: Record<string, string>, env: NodeJS.ProcessEnv} & Pick<StudyOptions, 'alike' | 'searched' | 'bracket'>} */
  #study;
  /** What a sweep sets itself in each of its runs. @type {Set<string>} */
  #varied = new Set();

  /** @param {NodeJS.ProcessEnv} env @param {string | null} searched the name of the option that is searched for */
  constructor(env, searched) {
    const others = Object.entries(env).filter(([name]) => !VARIABLES.includes(name));
    const found = { axes: [], alike: null, flags: [], bracket: null, options: {} };
    this.#study = { ...found, searched: searchedOf(searched), env: Object.fromEntries(others) };
  }

  /** Settings of the workload: each with several values is an axis, and the others go with them. @param {OptionValue} found @param {RegExp} separator */
  #settingTexts({ text, label, parts }, separator) {
    const axes = parts
      .flatMap((part) => part.split(separator))
      .map((setting) => {
        const [name, ...values] = setting.split('=');
        return { name: `set.${name.trim()}`, values: Object.freeze(axisTexts(values.join('='), label)) };
      });
    if (axes.every(({ values }) => values.length === 1)) return [text];
    this.#study.axes.push(...axes);
    this.#varied.add('set');
    return [axes.map(({ name, values }) => `${name.slice('set.'.length)}=${values[0]}`).join(',')];
  }

  /** The values of an option, each as if it had been given alone. @param {Option} option @param {OptionValue} found @param {string | null} searched */
  textsOf(option, found, searched) {
    const { text, label } = found;
    if (option.name === searched) {
      const [from, to] = bracketTexts(text);
      const [, unit] = /([kmg]gas)$/i.exec(from) ?? [];
      if (to === null && option.name === 'rate')
        throw new UsageError(`${label} ${text} is one rate: give a range, such as 100..5000, or leave it out`);
      const inUnit = (/** @type {string} */ value) => value.slice(0, value.length - (unit?.length ?? 0));
      if (text.split('..').length > 2 || (to !== null && /[kmg]gas$/i.exec(to)?.[0] !== unit))
        throw new UsageError(
          `${label} must be a range with both ends in one unit, such as 10${unit ?? ''}..50${unit ?? ''}`,
        );
      if (to !== null && !(Number(inUnit(from)) < Number(inUnit(to))))
        throw new UsageError(`${label} must be a range that begins with its lower end, such as 100..5000`);
      this.#study.bracket = { from: inUnit(from), to: to === null ? null : inUnit(to) };
      const { searched: known } = this.#study;
      if (unit !== undefined && known !== null)
        this.#study.searched = { ...known, unit, behind: ` ${unit} per second`, short: ` ${unit}/s` };
      this.#varied.add(option.name);
      return to === null ? [from] : [from, to];
    }
    if (option.name === 'set') return this.#settingTexts(found, /** @type {RegExp} */ (option.separator));
    if (!option.isAxis) return [text];
    const texts = axisTexts(text, label);
    if (texts.length > 1) {
      this.#study.axes.push({ name: option.name, values: Object.freeze(texts) });
      this.#varied.add(option.name);
    } else if (texts[0] !== text.trim()) this.#study.alike ??= `${label} ${text}`;
    return texts;
  }

  /** @param {Option} option @param {OptionValue} found @param {string} shown its text as it may be shown */
  add(option, { text, where }, shown) {
    if (where === 'flag') this.#study.flags.push(option.name);
    if (where === 'default' || !option.commands.includes('run') || OF_THE_STUDY.has(option.key)) return;
    if (this.#varied.has(option.name)) return;
    this.#study.env[option.variable] = text;
    if (!option.isSecret) this.#study.options[option.name] = shown;
  }

  /** @returns {StudyOptions} */
  build() {
    for (const part of Object.values(this.#study)) Object.freeze(part);
    return Object.freeze(this.#study);
  }
}

/** @param {string | null} name @returns {Searched | null} null: no option, or one that cannot be searched for */
function searchedOf(name) {
  const { search, integer } = OPTIONS.find((one) => one.name === name) ?? {};
  const [lowest, highest] = search?.range ?? integer ?? [];
  if (name === null || search === undefined || lowest === undefined || highest === undefined) return null;
  return { name, ...search, lowest, highest };
}
