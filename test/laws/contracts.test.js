/** The contracts (src/contracts/) and the types of the package: the compiler and the linter say whether they hold. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';
import ts from 'typescript';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
const SOURCES = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(js|d\.ts)$/.test(name));
const FILES = SOURCES.filter((name) => name.endsWith('.d.ts')).map((name) => join(SRC, name));
const CONTRACTS = FILES.filter((name) => name.startsWith(join(SRC, 'contracts')));

/** @type {ts.CompilerOptions} */
const OPTIONS = {
  strict: true,
  noEmit: true,
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  types: ['node'],
  allowImportingTsExtensions: true,
};

/** @param {(file: string, text: string) => string} [changed] a file as the compiler sees it @param {ts.Program} [earlier] saves time */
function programOf(changed = (_, text) => text, earlier) {
  const host = ts.createCompilerHost(OPTIONS);
  const { readFile } = host;
  host.readFile = (file) => changed(file, readFile(file) ?? '');
  const { getSourceFile } = host;
  host.getSourceFile = (file, ...given) =>
    (file.startsWith(SRC) ? undefined : earlier?.getSourceFile(file)) ?? getSourceFile(file, ...given);
  return ts.createProgram(FILES, OPTIONS, host, earlier);
}

/** Where an exported type, or a member of one, is any. @param {ts.Program} program @returns {string[]} */
function anysIn(program) {
  const checker = program.getTypeChecker();
  /** @type {Set<ts.Type>} */
  const seen = new Set();
  /** @type {string[]} */
  const anys = [];

  /** Types of other packages are theirs. @param {ts.Symbol | undefined} symbol */
  const isOurs = (symbol) => symbol?.declarations?.some((one) => one.getSourceFile().fileName.startsWith(SRC)) ?? true;

  /** @param {ts.Type} type @param {string} path */
  function visit(type, path) {
    if (type.flags & ts.TypeFlags.Any) return void anys.push(path);
    if (seen.has(type)) return;
    seen.add(type);
    if (type.isUnionOrIntersection()) for (const part of type.types) visit(part, path);
    for (const argument of type.aliasTypeArguments ?? []) visit(argument, path);
    if (/** @type {ts.ObjectType} */ (type).objectFlags & ts.ObjectFlags.Reference)
      for (const argument of checker.getTypeArguments(/** @type {ts.TypeReference} */ (type))) visit(argument, path);
    if (!isOurs(type.symbol)) return;
    for (const member of checker.getPropertiesOfType(type))
      if (isOurs(member)) visit(checker.getTypeOfSymbol(member), `${path}.${member.name}`);
    for (const { type: value } of checker.getIndexInfosOfType(type)) visit(value, `${path}[]`);
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
      for (const given of signature.parameters) visit(checker.getTypeOfSymbol(given), `${path}(${given.name})`);
      visit(signature.getReturnType(), `${path}()`);
    }
  }

  for (const file of FILES) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    assert(module, `${file} exports nothing`);
    for (const symbol of checker.getExportsOfModule(module)) {
      const path = `${file.slice(SRC.length + 1)}: ${symbol.name}`;
      const own = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      if (own.flags & ts.SymbolFlags.Type) visit(checker.getDeclaredTypeOfSymbol(own), path);
      if (own.flags & ts.SymbolFlags.Value) visit(checker.getTypeOfSymbol(own), path);
    }
  }
  return anys;
}

/** An any that is written, one in a generic type, and a type that does not exist: where each is found. @type {[file: string, text: string, planted: string, path: string][]} */
const PLANTED = [
  ['run-schema.d.ts', 'evidence: string }', 'evidence: any }', 'index.d.ts: run().verdict.evidence'],
  [
    'workload.d.ts',
    '  state?: unknown;',
    '  state?: Promise<any>[];',
    'index.d.ts: defineWorkload(workload)(options).state',
  ],
  ['common.d.ts', '  errors: Error[];', '  errors: Missing[];', 'contracts/common.d.ts: Stop.errors'],
];

describe('types of the package', () => {
  const program = programOf();

  it('no exported type is any, nor is a member of one', () => assert.deepEqual(anysIn(program), []));

  it('an any that is planted is found', () => {
    const changed = (/** @type {string} */ file, /** @type {string} */ text) =>
      PLANTED.reduce((all, [name, from, to]) => (file.endsWith(`/${name}`) ? all.replace(from, to) : all), text);
    const paths = PLANTED.map(([, , , path]) => path);
    assert.deepEqual(anysIn(programOf(changed, program)).sort(), paths.sort());
  });
});

/** Texts that the linter refuses in a contract, with the rule. */
const REFUSED = {
  "import type { Ledger } from '../core/ledger.js'; export type A = Ledger;": 'no-restricted-imports',
  "export type { Ledger } from '../core/ledger.js';": 'no-restricted-imports',
  "import type { Agent } from 'undici'; export type A = Agent;": 'no-restricted-imports',
  "export type A = import('../core/ledger.js').Ledger;": 'no-restricted-syntax',
  'export type A = ReturnType<() => number>;': 'no-restricted-syntax',
  'export type A = Record<string, any>;': '@typescript-eslint/no-explicit-any',
  "import type { Clock } from './load.d.ts'; export type A = number;": '@typescript-eslint/no-unused-vars',
};

describe('lint: a contract', () => {
  const eslint = new ESLint({ cwd: join(SRC, '..') });
  const rulesFor = async (/** @type {string} */ text) => {
    const [{ messages }] = await eslint.lintText(text, { filePath: CONTRACTS[0] });
    return messages.map(({ ruleId, message }) => ruleId ?? message);
  };

  for (const [text, rule] of Object.entries(REFUSED))
    it(`refuses: ${text}`, async () => assert.deepEqual(await rulesFor(text), [rule]));

  it('imports contracts, and the interface of ethers', async () => {
    const text = `import type { Clock } from './load.d.ts';\nimport type { Interface } from 'ethers';\nexport type A = [Clock, Interface];`;
    assert.deepEqual(await rulesFor(text), []);
  });
});

/** Names of the contracts that one imports, by its name. */
const IMPORTS = new Map(
  CONTRACTS.map((file) => {
    const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'));
    return [
      basename(file),
      importedFiles.map(({ fileName }) => basename(fileName)).filter((name) => name !== 'ethers'),
    ];
  }),
);

/** @param {ReadonlyMap<string, string[]>} imports @returns {string[][]} paths that end where they began */
function circlesIn(imports) {
  /** @param {string[]} path @returns {string[][]} */
  const from = (path) =>
    (imports.get(path[path.length - 1]) ?? []).flatMap((name) =>
      name === path[0] ? [[...path, name]] : path.includes(name) ? [] : from([...path, name]),
    );
  return [...imports.keys()].flatMap((name) => from([name]));
}

describe('the contracts have an order', () => {
  it('none imports one that imports it', () => {
    assert.deepEqual(circlesIn(IMPORTS), []);
    assert.deepEqual(circlesIn(new Map([...IMPORTS, ['common.d.ts', ['load.d.ts']]])).length > 0, true);
  });

  it('common.d.ts is the lowest, and config.d.ts the highest', () => {
    assert.deepEqual(IMPORTS.get('common.d.ts'), []);
    const above = [...IMPORTS].filter(([, imported]) => imported.includes('config.d.ts')).map(([name]) => name);
    assert.deepEqual(above, []);
  });
});

/** The folder of a source file, or the library: only its types are files of src/ itself. @param {string} name */
const roomOf = (name) => (name.includes('/') ? name.split('/')[0] : name.startsWith('index.') ? 'library' : name);

/** The names that a file imports or exports from contracts, as [contract, name]. @param {string} text @returns {string[][]} */
function namesFromContracts(text) {
  const lists = [...text.matchAll(/(?:im|ex)port(?: type)? \{([^}]*)\} from '[./]*contracts\/([\w-]+\.d\.ts)'/g)];
  const wholes = [...text.matchAll(/import(?: type)? \* as (\w+) from '[./]*contracts\/([\w-]+\.d\.ts)'/g)];
  return [
    ...lists.flatMap(([, names, file]) => names.split(',').map((name) => [file, name.trim().split(' as ')[0]])),
    ...wholes.flatMap(([, alias, file]) =>
      [...text.matchAll(new RegExp(`\\b${alias}\\.(\\w+)`, 'g'))].map(([, name]) => [file, name]),
    ),
  ];
}

/**
 * Types of the contracts that fewer than two rooms use. Who uses a type uses those that it is made of. Those of the run file's
 * schema are generated.
 * @param {ts.Program} program
 * @returns {string[]}
 */
function typesOfOneRoom(program) {
  const checker = program.getTypeChecker();
  const own = (/** @type {ts.Symbol} */ symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  /** @type {Map<ts.Symbol, {name: string, rooms: Set<string>, parts: ts.Symbol[]}>} */
  const types = new Map();
  for (const file of CONTRACTS.filter((name) => !name.endsWith('run-schema.d.ts')))
    for (const statement of program.getSourceFile(file)?.statements ?? []) {
      if (!ts.isTypeAliasDeclaration(statement) && !ts.isInterfaceDeclaration(statement)) continue;
      /** @type {ts.Symbol[]} */
      const parts = [];
      /** @param {ts.Node} node */
      const visit = (node) => {
        const symbol = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
        if (symbol !== undefined) parts.push(own(symbol));
        ts.forEachChild(node, visit);
      };
      visit(statement);
      const symbol = /** @type {ts.Symbol} */ (checker.getSymbolAtLocation(statement.name));
      types.set(symbol, { name: `${basename(file)}: ${symbol.name}`, rooms: new Set(), parts });
    }
  /** @param {ts.Symbol} symbol @param {string} room */
  const use = (symbol, room) => {
    const type = types.get(symbol);
    if (type === undefined || type.rooms.has(room)) return;
    type.rooms.add(room);
    for (const part of type.parts) use(part, room);
  };
  for (const name of SOURCES.filter((source) => roomOf(source) !== 'contracts'))
    for (const [file, type] of namesFromContracts(readFileSync(join(SRC, name), 'utf8'))) {
      const source = program.getSourceFile(join(SRC, 'contracts', file));
      const module = source && checker.getSymbolAtLocation(source);
      const symbol = module && checker.tryGetMemberInModuleExports(type, module);
      if (symbol !== undefined) use(own(symbol), roomOf(name));
    }
  return [...types.values()].filter(({ rooms }) => rooms.size < 2).map(({ name }) => name);
}

describe('a type of one room is declared in that room', () => {
  const program = programOf();

  it('two rooms use each type of the contracts', () => assert.deepEqual(typesOfOneRoom(program), []));

  it('a type that nobody uses is found, and one that only such a type uses', () => {
    const planted = '\nexport type Alone = { part: Part };\nexport type Part = string;\n';
    const changed = (/** @type {string} */ file, /** @type {string} */ text) =>
      file.endsWith('/common.d.ts') ? text + planted : text;
    assert.deepEqual(typesOfOneRoom(programOf(changed, program)), ['common.d.ts: Alone', 'common.d.ts: Part']);
  });
});
