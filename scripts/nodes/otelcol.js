/** An OpenTelemetry collector, which the collector's own builder makes of the parts that otelcol.yaml lists. */
import { fileURLToPath } from 'node:url';
import { ensureBuilt, ensureInstalled } from './build.js';

export const OTELCOL = Object.freeze({ name: 'otelcol', version: 'v0.165.0' });

const BUILDER = {
  name: 'otelcol-builder',
  module: 'go.opentelemetry.io/collector/cmd/builder',
  version: OTELCOL.version,
};
const PARTS = fileURLToPath(new URL('otelcol.yaml', import.meta.url));

/** The path of its binary, built once. @returns {Promise<string>} */
export async function ensureCollector() {
  const { name, version } = OTELCOL;
  const builder = { command: await ensureBuilt(BUILDER), site: 'https://go.dev/dl', args: () => ['--config', PARTS] };
  return ensureInstalled(builder, { name: `${name}-${version}`, file: name });
}
