/**
 * Mutation test: changes one operator, constant or condition at a time in a copy of the sources, and counts how many of
 * these mutants the given tests find.
 *
 *     node scripts/mutate.js --src src/core,src/stats --tests test/laws/core,test/laws/stats [--count 100] [--seed 1]
 *                            [--root CHECKOUT] [--executed] [--per-file 2] [--list]
 *                            [--command 'node scripts/simulate.js --cases 80 --first']
 *
 * Prints each mutant with its result, and the share found. --root names another checkout (with node_modules), so that
 * two versions can be compared. --command is run in place of the tests: exit code 0 means that they pass. --executed leaves
 * out mutants in code that the tests do not execute; --per-file draws at most so many of one file; --list prints the mutants
 * as JSON and runs none. Mutants that change nothing a test could see are not left out; their share is about the same in
 * both versions.
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
    command: { type: 'string' },
    executed: { type: 'boolean', default: false },
    'per-file': { type: 'string', default: 'Infinity' },
    jobs: { type: 'string', default: '2' },
    list: { type: 'boolean', default: false },
    root: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) },
  },
});
const ROOT = resolve(values.root);
/** An endless loop or an endless wait counts as found. The first limit is CPU time, which a busy machine does not change. */
const CPU_LIMIT_S = 300;
const TIMEOUT_MS = 1_200_000;

const ALL_TESTS = 'all-tests.mjs';

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

/** @param {Mutant[]} all @param {{count: number, perFile: number, seed: number}} options @returns {Mutant[]} drawn without replacement */
function draw(all, { count, perFile, seed }) {
  const random = randomNumbers(seed);
  const left = [...all];
  /** @type {Mutant[]} */
  const drawn = [];
  while (drawn.length < count && left.length > 0) {
    const [one] = left.splice(Math.floor(random() * left.length), 1);
    if (drawn.filter(({ file }) => file === one.file).length < perFile) drawn.push(one);
  }
  return drawn;
}

/**
 * @param {string} folder a copy of the checkout, in which the tests have run
 * @param {string} reports of NODE_V8_COVERAGE
 * @returns {(mutant: Mutant) => boolean} whether its code was executed
 */
function executedIn(folder, reports) {
  /** By URL: the ranges of functions and of their blocks. @type {Map<string, Array<{startOffset: number, endOffset: number, count: number}>>} */
  const ranges = new Map();
  for (const name of readdirSync(reports)) {
    const { result } = JSON.parse(readFileSync(join(reports, name), 'utf8'));
    for (const { url, functions } of result)
      ranges.set(url, [...(ranges.get(url) ?? []), ...functions.flatMap((/** @type {any} */ one) => one.ranges)]);
  }
  return ({ file, start }) => {
    const around = (ranges.get(pathToFileURL(join(folder, file)).href) ?? []).filter(
      ({ startOffset, endOffset }) => startOffset <= start && start < endOffset,
    );
    if (around.length === 0) return false;
    const lengths = around.map(({ startOffset, endOffset }) => endOffset - startOffset);
    return around.some(({ count }, i) => lengths[i] === Math.min(...lengths) && count > 0);
  };
}

/** @returns {string} a copy of the checkout, without node_modules */
function copyOf() {
  const folder = mkdtempSync(join(tmpdir(), 'stress-mutants-'));
  const ignored = new Set([join(ROOT, 'node_modules'), join(ROOT, '.git')]);
  cpSync(ROOT, folder, { recursive: true, filter: (path) => !ignored.has(path) });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** @param {string} folder a copy of the checkout @param {NodeJS.ProcessEnv} [env] @returns {Promise<boolean>} whether the tests pass there */
function passes(folder, env = {}) {
  const command = values.command ?? `exec '${process.execPath}' --test-reporter=tap ${ALL_TESTS}`;
  return new Promise((done) => {
    const child = spawn('/bin/sh', ['-c', `ulimit -t ${CPU_LIMIT_S}; ${command}`], {
      cwd: folder,
      env: { ...process.env, ...env },
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

/** @param {string[]} tests @param {(folder: string) => Promise<void>} use */
async function withCopy(tests, use) {
  const folder = copyOf();
  try {
    const imports = tests.map((file) => `import '${pathToFileURL(join(folder, file)).href}';\n`);
    writeFileSync(join(folder, ALL_TESTS), imports.join(''));
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {Mutant[]} mutants shared by the workers @param {string} folder @param {(mutant: Mutant, isFound: boolean) => void} report */
async function work(mutants, folder, report) {
  for (let mutant = mutants.shift(); mutant !== undefined; mutant = mutants.shift()) {
    const path = join(folder, mutant.file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.slice(0, mutant.start) + mutant.text + text.slice(mutant.end));
    report(mutant, !(await passes(folder)));
    writeFileSync(path, text);
  }
}

/** @param {Mutant[]} drawn @param {string[]} tests */
async function test(drawn, tests) {
  const count = drawn.length;
  let found = 0;
  const report = (/** @type {Mutant} */ mutant, /** @type {boolean} */ isFound) => {
    if (isFound) found += 1;
    console.log(`${isFound ? 'found   ' : 'SURVIVED'} ${mutant.words}`);
  };
  const jobs = Math.min(Number(values.jobs), availableParallelism());
  await Promise.all(Array.from({ length: jobs }, () => withCopy(tests, (folder) => work(drawn, folder, report))));
  console.log(`${found} of ${count} mutants found (${((100 * found) / count).toFixed(0)} %)`);
}

let all = filesIn(values.src.split(',')).flatMap(mutantsOf);
// The index of a folder only imports the others.
const isTest = (/** @type {string} */ file) => file.endsWith('.test.js') && basename(file) !== 'index.test.js';
const tests = values.command === undefined ? filesIn(values.tests.split(',')).filter(isTest) : [];
await withCopy(tests, async (folder) => {
  const reports = join(folder, 'executed');
  if (values.list && !values.executed) return;
  if (!(await passes(folder, values.executed ? { NODE_V8_COVERAGE: reports } : {})))
    throw new Error('the tests fail without a mutant');
  if (values.executed) all = all.filter(executedIn(folder, reports));
});
const drawn = draw(all, {
  count: Number(values.count),
  perFile: Number(values['per-file']),
  seed: Number(values.seed),
});
if (values.list) console.log(JSON.stringify(drawn, null, 1));
else {
  console.log(
    `${drawn.length} of ${all.length} mutants of ${relative('', ROOT) || '.'}, by ${values.command ?? `${tests.length} test files`}`,
  );
  await test(drawn, tests);
}
