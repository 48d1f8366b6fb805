import { header, headersOf, literalHeader, literalUrl } from '../transport/headers.js';
import * as parse from './parse.js';

/**
 * Options of --push.
 *
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { Command, Row } from './options.js'
 */

// prettier-ignore
/** Rows of the table of options. @param {readonly Command[]} commands @returns {readonly Row[]} */
export const pushRows = (commands) => [
  { name: 'push', env: 'STRESS_PUSH_URL', argument: 'URL', commands,
    parse: async (text) => (await import('../outputs/push.js')).receiver(text),
    literal: (text) => literalUrl(text, 'STRESS_PUSH_URL'),
    output: { load: loadPush },
    help: 'push the figures to an OpenTelemetry collector or Prometheus (OTLP/HTTP) in each interval and at the end; /v1/metrics is appended' },
  { name: 'push-header', isList: true, separator: '\n', argument: "'NAME: VALUE'", parse: header, commands, needs: ['push'],
    literal: (text) => literalHeader(text, 'STRESS_PUSH_HEADER or --push-header-file'),
    isSecret: true,
    help: 'header of each request to --push; may be repeated; secret ones, one a line, in STRESS_PUSH_HEADER or in --push-header-file' },
  { name: 'push-header-file', argument: 'FILE', parse: parse.pathName, commands, needs: ['push'],
    file: 'secret',
    help: 'file with such headers, one a line' },
  { name: 'label', isList: true, separator: /,(?=\s*[^,=\s]+=)/, argument: 'NAME=VALUE', commands, needs: ['push'],
    parse: async (text) => (await import('../outputs/push.js')).label(text),
    help: 'label of all series of --push, such as branch=main; may be repeated, up to 16' },
];

/** Outputs do not read headers. @returns {Promise<(options: OutputOptions) => Output>} */
async function loadPush() {
  const [{ createPushOutput }, { ownHeaders }] = await Promise.all([
    import('../outputs/push.js'),
    import('../transport/http.js'),
  ]);
  return (options) => {
    const headers = headersOf({ header: options.pushHeader, headerFile: options.pushHeaderFile });
    return createPushOutput(options, ownHeaders(/** @type {URL} */ (options.push), headers));
  };
}
