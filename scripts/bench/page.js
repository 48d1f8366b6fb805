/** The results page, docs/evidence.md: each benchmark has a section of it between two comments. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('../../docs/evidence.md', import.meta.url));

/**
 * Prints the section of a benchmark and, with --write, puts it into the results page.
 * @param {string} section its name in the comments
 * @param {string} title
 * @param {string} markdown what was measured
 * @param {string[]} [others] versions of what took part beside us
 */
export async function publish(section, title, markdown, others = []) {
  const body = `## ${title}\n\n${markdown}\n\n${provenance(others)}`;
  console.log(body);
  if (!process.argv.includes('--write')) return;
  const page = replaceSection(readFileSync(FILE, 'utf8'), section, body);
  // Loaded here only: it is a development dependency, and slow to load while something is measured.
  const { format, resolveConfig } = await import('prettier');
  writeFileSync(FILE, await format(page, { ...(await resolveConfig(FILE)), parser: 'markdown' }));
}

/**
 * @param {string} page
 * @param {string} section
 * @param {string} body
 * @returns {string} the page with the section in its place, or at the end when it had none
 */
function replaceSection(page, section, body) {
  const [open, close] = [`<!-- ${section} -->`, `<!-- /${section} -->`];
  const text = `${open}\n\n${body}\n\n${close}`;
  const [from, to] = [page.indexOf(open), page.indexOf(close)];
  if (from === -1 || to < from) return `${page.trimEnd()}\n\n${text}\n`;
  return page.slice(0, from) + text + page.slice(to + close.length);
}

/** What has to be known to run the same again. @param {string[]} others */
function provenance(others) {
  const script = basename(process.argv[1], '.js');
  const args = process.argv.slice(2).filter((arg) => arg !== '--write');
  const command = `npm run bench:${script}${args.length > 0 ? ` -- ${args.join(' ')}` : ''}`;
  const versions = [`stress ${stressVersion()}`, `Node ${process.version}`, ...others].join(', ');
  return `\`${command}\` on ${new Date().toISOString().slice(0, 10)}; ${machine()}; ${versions}.`;
}

/** The version, and the commit with a word on what is not committed. */
function stressVersion() {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  try {
    const commit = execFileSync('git', ['describe', '--always', '--exclude', '*', '--dirty=-modified'], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return `${version} (${commit.trim()})`;
  } catch {
    return version; // no checkout
  }
}

function machine() {
  return `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'of an unknown kind'})`;
}
