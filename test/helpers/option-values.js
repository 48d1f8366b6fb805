/** Values that options take. */

/** @import { Option } from '../../src/cli/options.js' */

/** By what --help calls them, or by the names of options. @type {Record<string, string>} */
const VALUES = {
  ...{ N: '2', 'N|Nblocks': '2blocks', TIME: '30s', URL: 'http://127.0.0.1:1', PERCENT: '5%', EXPR: 'tps>1' },
  ...{ PRICE: '1', AMOUNT: '1', LIST: '1/1s', '[NAME=]URL': 'a=http://127.0.0.1:1' },
  ...{ OPTION: 'rate', 'NAME:WEIGHT': 'counter:1', 'NAME|FILE': 'deploy', 'start-at': '2030-01-01T00:00:00Z' },
  ...{ 'push-header': 'X-Team: load', label: 'branch=main', flashblocks: 'ws://127.0.0.1:1' },
  'send-params': '[{"tx":"{{raw}}"}]',
  'contract-address': '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  rate: '100',
  workloads: '{"ping":{"deploy":"a.json","function":"ping()"}}',
  params: '[]',
  mnemonic: 'legal winner thank year wave sausage worth useful legal winner thank yellow',
};

/** @param {Pick<Option, 'name' | 'argument' | 'isFlag' | 'choices'>} option */
export function valueOf({ name, argument, isFlag, choices }) {
  return VALUES[name] ?? (isFlag ? 'true' : (choices?.at(-1) ?? VALUES[argument] ?? 'x'));
}
