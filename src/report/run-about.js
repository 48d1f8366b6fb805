import { sentence } from './charts.js';
import { html } from './html.js';
import { commandLine, settingsOf } from './repeat.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { OptionFacts, Setting } from './repeat.js'
 */

/**
 * How a run was made, and what its figures mean.
 */

/** @param {RunFile} run @param {readonly OptionFacts[]} options */
export function configuration(run, options) {
  const settings = settingsOf(run.config, options);
  const rows = (/** @type {Setting[]} */ all) =>
    html`<table class="wraps">
      <tbody>
        ${all.map(
          ({ name, text }) =>
            html`<tr>
              <th scope="row"><code>--${name}</code></th>
              <td>${text}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
  const { embeddedChain } = run.environment;
  const secrets = settings.flatMap(({ variable }) => variable ?? []);
  return html`<section aria-labelledby="repeat">
    <h2 id="repeat">How to repeat it</h2>
    <pre tabindex="0" aria-label="Command line">${commandLine(run.config, options)}</pre>
    <p class="note">
      ${secrets.length > 0 && `What was secret is in no run file: set ${secrets.join(' and ')} as it was. `}${embeddedChain === true ? 'The chain was embedded: a new one is started each time.' : ''}
    </p>
    <details id="settings">
      <summary>Configuration: what differs from the defaults</summary>
      ${rows(settings.filter(({ isDefault }) => !isDefault))}
    </details>
    <details id="defaults">
      <summary>Configuration: defaults</summary>
      ${rows(settings.filter(({ isDefault }) => isDefault))}
    </details>
    <details id="environment">
      <summary>Environment</summary>
      <table class="wraps">
        <tbody>
          ${flat(run.environment).map(
            ([name, value]) =>
              html`<tr>
                <th scope="row">${name}</th>
                <td>${value}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </section>`;
}

/** @param {Record<string, unknown>} object @param {string} [prefix] @returns {Array<[string, string]>} */
function flat(object, prefix = '') {
  return Object.entries(object).flatMap(([name, value]) => {
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return flat(/** @type {Record<string, unknown>} */ (value), `${prefix}${name}.`);
    return [
      /** @type {[string, string]} */ ([`${prefix}${name}`, Array.isArray(value) ? value.join(', ') : String(value)]),
    ];
  });
}

/** @param {RunFile} run */
export function definitions(run) {
  const { id, startedAt, endedAt, schema } = run;
  return html`<section aria-labelledby="meaning">
    <h2 id="meaning">What the figures mean</h2>
    <details id="words">
      <summary>Definitions</summary>
      <dl class="words">
        ${Object.entries(run.definitions).map(
          ([name, words]) =>
            html`<dt>${name}</dt>
              <dd>${words}</dd>`,
        )}
      </dl>
    </details>
    ${
      Object.keys(run.unmeasured).length > 0 &&
      html`<details id="unmeasured">
        <summary>What was not measured, and why</summary>
        <dl class="words">
          ${Object.entries(run.unmeasured).map(
            ([name, why]) =>
              html`<dt><code>${name}</code></dt>
                <dd>${sentence(why)}</dd>`,
          )}
        </dl>
      </details>`
    }
    <p class="note">Run ${id}, ${startedAt} to ${endedAt}, ${schema}.</p>
  </section>`;
}
