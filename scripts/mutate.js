/**
 * Mutation test: changes one operator, constant or condition at a time in a copy of the sources, and counts how many of
 * these mutants the given tests find.
 *
 *     node scripts/mutate.js --src src/core,src/stats --tests test/laws/core,test/laws/stats [--count 100] [--seed 1]
 *                            [--root CHECKOUT]
 *
 * Prints each mutant with its result, and the share found. --root names another checkout (with node_modules), so that
 * two versions can be compared. Mutants that change nothing a test could see are not left out; their share is about the
 * same in both versions.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { randomNumbers } from '../src/random.js';

/**
 * @typedef {object} Mutant
 * @property {string} file relative to the checkout
 * @property {number} start
 * @property {number} end
 * @property {string} text what replaces the source between start and end
 * @property {string} words the change, for the report
 */

const { values } = parseArgs({
  options: {
    src: { type: 'string', default: 'src/core,src/stats' },
    tests: { type: 'string', default: 'test/laws/core,test/laws/stats' },
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    root: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) },
  },
});
const ROOT = resolve(values.root);
/** An endless loop or an endless wait counts as found. The first limit is CPU time, which a busy machine does not change. */
const CPU_LIMIT_S = 120;
const TIMEOUT_MS = 1_200_000;

const OPERATORS = /** @type {Record<string, string>} */ ({
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
});

/** @param {string[]} paths files or folders @returns {string[]} the .js files, relative to the checkout */
function filesIn(paths) {
  return paths.flatMap((path) => {
    const full = join(ROOT, path);
    if (!statSync(full).isDirectory()) return [path];
    const names = readdirSync(full, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => name.endsWith('.js')).map((name) => join(path, name));
  });
}

/** @param {string} file @returns {Mutant[]} every mutant of a file */
function mutantsOf(file) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  /** @type {Mutant[]} */
  const found = [];
  /** @param {ts.Node} node @param {string} replacement */
  const add = (node, replacement) => {
    const start = node.getStart(source);
    const { line } = source.getLineAndCharacterOfPosition(start);
    const words = `${file}:${line + 1} ${node.getText(source)} -> ${replacement}`.replaceAll(/\s+/g, ' ').slice(0, 140);
    found.push({ file, start, end: node.getEnd(), text: replacement, words });
  };
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isBinaryExpression(node)) {
      const replacement = OPERATORS[node.operatorToken.getText(source)];
      if (replacement !== undefined) add(node.operatorToken, replacement);
    } else if (ts.isNumericLiteral(node)) {
      add(node, `(${node.getText(source)} + 1)`);
    } else if (node.kind === ts.SyntaxKind.TrueKeyword) {
      add(node, 'false');
    } else if (node.kind === ts.SyntaxKind.FalseKeyword) {
      add(node, 'true');
    } else if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
      const condition = ts.isIfStatement(node) ? node.expression : node.condition;
      add(condition, `!(${condition.getText(source)})`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** @param {Mutant[]} all @param {number} count @param {number} seed @returns {Mutant[]} drawn without replacement */
function draw(all, count, seed) {
  const random = randomNumbers(seed);
  const left = [...all];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(Math.floor(random() * left.length), 1),
  ).flat();
}

/** @returns {string} a copy of the checkout, without node_modules */
function copyOf() {
  const folder = mkdtempSync(join(tmpdir(), 'stress-mutants-'));
  const ignored = new Set([join(ROOT, 'node_modules'), join(ROOT, '.git')]);
  cpSync(ROOT, folder, { recursive: true, filter: (path) => !ignored.has(path) });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** @param {string} folder @param {string} all the file that imports the tests @returns {Promise<boolean>} whether they pass */
function passes(folder, all) {
  return new Promise((done) => {
    const limited = `ulimit -t ${CPU_LIMIT_S}; exec "$0" "$@"`;
    const child = spawn('/bin/sh', ['-c', limited, process.execPath, '--test-reporter=tap', all], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    const stop = () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    };
    const timer = setTimeout(stop, TIMEOUT_MS);
    createInterface(child.stdout).on('line', (line) => {
      // The first failed test decides.
      if (/^\s*not ok /.test(line)) stop();
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      done(code === 0);
    });
  });
}

/** @param {Mutant[]} mutants shared by the workers @param {string[]} tests @param {(mutant: Mutant, isFound: boolean) => void} report */
async function work(mutants, tests, report) {
  const folder = copyOf();
  try {
    const all = join(folder, 'all-tests.mjs');
    writeFileSync(all, tests.map((file) => `import '${pathToFileURL(join(folder, file)).href}';\n`).join(''));
    if (!(await passes(folder, all))) throw new Error('the tests fail without a mutant');
    for (let mutant = mutants.shift(); mutant !== undefined; mutant = mutants.shift()) {
      const path = join(folder, mutant.file);
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.slice(0, mutant.start) + mutant.text + text.slice(mutant.end));
      report(mutant, !(await passes(folder, all)));
      writeFileSync(path, text);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const all = filesIn(values.src.split(',')).flatMap(mutantsOf);
const drawn = draw(all, Number(values.count), Number(values.seed));
// The index of a folder only imports the others.
const isTest = (/** @type {string} */ file) => file.endsWith('.test.js') && basename(file) !== 'index.test.js';
const tests = filesIn(values.tests.split(',')).filter(isTest);
const count = drawn.length;
let found = 0;
console.log(`${count} of ${all.length} mutants of ${relative('', ROOT) || '.'}, ${tests.length} test files`);
const workers = Array.from({ length: Math.min(2, availableParallelism()) }, () =>
  work(drawn, tests, (mutant, isFound) => {
    if (isFound) found += 1;
    console.log(`${isFound ? 'found   ' : 'SURVIVED'} ${mutant.words}`);
  }),
);
await Promise.all(workers);
console.log(`${found} of ${count} mutants found (${((100 * found) / count).toFixed(0)} %)`);
