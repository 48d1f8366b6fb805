/** Nodes that are npm packages. They are installed outside the checkout, because nothing but their tests needs them. */
import { delimiter, join } from 'node:path';
import { ensureInstalled } from './build.js';

/**
 * @param {string} name of the folder in the cache
 * @param {string} target package@version
 * @param {object} [options]
 * @param {string} [options.node] folder of the Node.js that runs npm: npm leaves out optional packages for newer ones
 * @param {AbortSignal} [options.signal] gives it up
 * @returns {Promise<string>} the folder node_modules
 */
export function ensurePackage(name, target, { node = '', signal } = {}) {
  const npm = {
    command: 'npm',
    site: 'https://nodejs.org',
    args: (/** @type {string} */ folder) => ['install', '--prefix', folder, '--no-audit', '--no-fund', target],
    env: () => ({ PATH: `${node}${delimiter}${process.env.PATH}` }),
  };
  return ensureInstalled(npm, { name, file: 'node_modules' }, signal);
}

/**
 * The folder of a newer Node.js than that of the tests. The package `node` has it only after its install scripts, which npm may
 * be told to leave out; the package of the platform has it as it is.
 * @param {string} version
 * @param {AbortSignal} [signal]
 */
export async function ensureNode(version, signal) {
  const name = `node-${process.platform}-${process.arch}`;
  const packages = await ensurePackage(`${name}-${version}`, `${name}@${version}`, { signal });
  return join(packages, name, 'bin');
}
