/**
 * Lint rules. Beyond the usual ones they hold the architecture: which folder of src/ may import which, no
 * mutable module state, no process.exit() outside bin/, no shell, no I/O in stats/ and the pacer, and bounds for the
 * length of files and functions. test/slow/lint-rules.test.js proves that each of these is reported.
 */
import js from '@eslint/js';
import globals from 'globals';
import importX from 'eslint-plugin-import-x';
import n from 'eslint-plugin-n';
import tseslint from 'typescript-eslint';

/** The five plug-in folders: they share what lies below them and never import each other. */
const PLUG_INS = ['inclusion', 'outputs', 'probes', 'transport', 'workloads'];
const LEAVES = [
  'clock.js',
  'coin.js',
  'deadlines.js',
  'errors.js',
  'node-page.js',
  'quantity.js',
  'random.js',
  'similar-names.js',
  'text.js',
  'web-socket.js',
];
const BELOW_PLUG_INS = ['chain', 'stats', 'bounded-file.js', 'files.js', 'json-file.js', ...LEAVES];
/** The core never imports the annexes: report/, studies/, scale-out/. */
const BELOW_CORE = ['observers', 'evidence', ...PLUG_INS, ...BELOW_PLUG_INS];

/**
 * What each part may import from src/, besides itself. Imports point down only; what is not listed is
 * forbidden. Types imported in JSDoc comments are not imports and are not checked; those of a contract are.
 * @type {Record<string, string[]>}
 */
const MAY_IMPORT = {
  bin: ['cli', ...LEAVES],
  'src/index.js': ['cli', 'core', ...BELOW_CORE],
  'src/cli': ['core', 'learn', 'report', 'studies', 'scale-out', ...BELOW_CORE],
  'src/core': BELOW_CORE,
  'src/learn': ['core', ...BELOW_CORE],
  'src/report': ['studies', ...BELOW_CORE],
  'src/studies': ['core', ...BELOW_CORE],
  'src/scale-out': ['studies', ...BELOW_CORE],
  ...Object.fromEntries(PLUG_INS.map((folder) => [`src/${folder}`, BELOW_PLUG_INS])),
  'src/observers': ['evidence', ...BELOW_PLUG_INS],
  'src/evidence': ['chain', 'stats', ...LEAVES],
  'src/chain': LEAVES,
  'src/contracts': [],
  'src/stats': LEAVES,
  'src/bounded-file.js': ['files.js', 'errors.js'],
  'src/files.js': ['errors.js'],
  'src/json-file.js': ['errors.js'],
  'src/similar-names.js': [],
  'src/clock.js': [],
  'src/deadlines.js': [],
  'src/errors.js': [],
  'src/node-page.js': [],
  'src/random.js': [],
  'src/web-socket.js': [],
  'src/coin.js': ['quantity.js'],
  'src/quantity.js': [],
  'src/text.js': ['errors.js', 'quantity.js'],
};

const ZONES = [
  ...Object.entries(MAY_IMPORT).map(([target, allowed]) => ({
    target: `./${target}`,
    from: './src',
    except: [...allowed, ...(target.startsWith('src/') ? [target.slice('src/'.length)] : [])].map(
      (name) => `./${name}`,
    ),
    message: `From src/, ${target} may import only: ${allowed.join(', ') || 'nothing'}.`,
  })),
  {
    target: './src',
    from: ['./bin', './scripts', './test'],
    message: 'src/ never imports from bin/, scripts/ or test/.',
  },
  { target: './bin', from: ['./scripts', './test'], message: 'bin/ never imports from scripts/ or test/.' },
];

/** The node: modules that cannot touch a file, a socket, a process or a thread. */
const PURE_BUILTINS = [
  'assert',
  'async_hooks',
  'buffer',
  'crypto',
  'events',
  'path',
  'perf_hooks',
  'timers',
  'url',
  'util',
  'zlib',
];
const NO_IO = 'stats/ and the pacer do no I/O: pass in what they need.';

const MODULE_STATE = ['Program > VariableDeclaration', 'Program > ExportNamedDeclaration > VariableDeclaration'].map(
  (declaration) => ({
    selector: `${declaration}:matches([kind="let"], [kind="var"])`,
    message: 'No mutable module state: keep it in an object that the caller creates.',
  }),
);

/** No value from a command line or a file becomes a command line of a shell. */
const SHELLS = [
  'ImportDeclaration[source.value=/child_process$/] > :matches(ImportNamespaceSpecifier, ImportDefaultSpecifier)',
  'ImportDeclaration[source.value=/child_process$/] > ImportSpecifier[imported.name!=/^(spawn|fork|execFile)(Sync)?$/]',
  'ImportExpression[source.value=/child_process$/]',
  'CallExpression[arguments.0.value=/^(node:)?child_process$/]',
  'ObjectExpression > Property[key.name="shell"]',
].map((selector) => ({ selector, message: 'No shell: start a program with its arguments as a list.' }));

/** One file reads what nodes answer. Submissions are no questions. */
const RAW_ANSWERS = [
  'CallExpression[callee.property.name=/^(call|gather)$/] > Literal[value=/^(eth_(?!sendRaw)|txpool_|web3_|debug_)/]',
  'Property[key.name="method"] > Literal[value=/^(eth_(?!sendRaw)|txpool_|web3_|debug_)/]',
].map((selector) => ({ selector, message: 'Raw answer of a node: use a question of src/chain/answers.js.' }));

/** The kit of workloads has an Interface of ethers. */
const NO_CONTRACT = String.raw`^(?!(\.|\.\.?/contracts)/[\w-]+\.d\.ts$|ethers$)`;
const OF_CONTRACTS = 'A contract imports contracts only, at the top of its file.';

export default [
  { ignores: ['contracts/', 'coverage/', 'docs/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.js'],
    plugins: { 'import-x': importX, n },
    languageOptions: { ecmaVersion: 2023, sourceType: 'module', globals: globals.nodeBuiltin },
    settings: { 'import-x/resolver-next': [importX.createNodeResolver()] },
    rules: {
      'no-control-regex': 'off', // stripping control characters from a node's text is this program's business
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' }],
      'no-var': 'error',
      'prefer-const': 'error',
      'require-await': 'off',
      'n/prefer-node-protocol': 'error',
      // An import that does not resolve would slip past the import direction below.
      'import-x/no-unresolved': 'error',
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones: ZONES }],
    },
  },
  {
    // Rules that need types: these folders are the ones in tsconfig.json.
    files: ['{bin,src,scripts,test}/**/*.js'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    // What is promised depends on no implementation: neither by an import of types, nor by what a function returns.
    files: ['src/**/*.d.ts'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: { parser: tseslint.parser },
    rules: {
      'no-undef': 'off', // tsc knows the names of types
      'no-unused-vars': 'off',
      '@typescript-eslint/no-unused-vars': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      'no-restricted-imports': ['error', { patterns: [{ regex: NO_CONTRACT, message: OF_CONTRACTS }] }],
      'no-restricted-syntax': [
        'error',
        { selector: 'TSImportType', message: OF_CONTRACTS },
        { selector: 'TSTypeReference > Identifier[name="ReturnType"]', message: 'Write the type of the result.' },
      ],
    },
  },
  {
    // scripts/ are programs of their own, as bin/ is.
    files: ['{src,test}/**/*.js'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'exit', message: 'Only bin/ ends the process: throw, or set process.exitCode.' },
      ],
      'no-restricted-imports': [
        'error',
        { name: 'node:process', importNames: ['exit'], message: 'Only bin/ ends the process.' },
      ],
    },
  },
  { files: ['bin/**/*.js'], rules: { 'no-restricted-syntax': ['error', ...SHELLS] } },
  {
    files: ['src/**/*.js'],
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...MODULE_STATE, ...SHELLS],
      'max-lines': ['error', { max: 600, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['src/**/*.js'],
    // The reader itself, and what compares answers as nodes print them.
    ignores: ['src/chain/answers.js', 'src/observers/consistency/**', 'src/workloads/call*.js'],
    rules: { 'no-restricted-syntax': ['error', ...MODULE_STATE, ...SHELLS, ...RAW_ANSWERS] },
  },
  { files: ['src/{cli,outputs}/**/*.js'], rules: { 'no-console': 'off' } },
  // What a page runs in a browser.
  { files: ['src/report/client/**/*.js', 'test/browser/**/*.js'], languageOptions: { globals: globals.browser } },
  {
    files: ['src/stats/**/*.js', 'src/core/pacer.js'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [{ name: 'undici', message: NO_IO }],
          patterns: [{ regex: `^node:(?!(?:${PURE_BUILTINS.join('|')})(?:/|$))`, message: NO_IO }],
        },
      ],
      'no-restricted-globals': ['error', ...['fetch', 'WebSocket'].map((name) => ({ name, message: NO_IO }))],
      'no-restricted-syntax': ['error', ...MODULE_STATE, ...SHELLS, { selector: 'ImportExpression', message: NO_IO }],
    },
  },
  {
    files: ['test/**/*.js'],
    rules: {
      // node:test waits for the tests of a file by itself.
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['describe', 'it', 'suite', 'test'] },
          ],
        },
      ],
      // The line above lets t.test() pass too, but a test does not wait for its subtests.
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExpressionStatement > CallExpression[callee.object.name="t"][callee.property.name="test"]',
          message: 'Await t.test(): a subtest that outlives its test is cancelled.',
        },
      ],
    },
  },
];
