import { parseThreshold } from '../metrics/thresholds.js';
import { comparedMetric, parseFailIf } from '../study/fail-if.js';
import { presets } from '../study/presets.js';
import { STUDY, SWEEP, COMPARE, TREND } from './command-names.js';
import { fileName, pathName } from './file-names.js';
import { anyText, duration, endpoint, flag, oneOf, wholeNumber } from './values.js';

/** @import { Option } from './options.js' */

/** What studies are asked. See src/cli/options.js. */

// prettier-ignore
/** @type {readonly Option[]} */
export const STUDY_OPTIONS = Object.freeze([
  { name: 'repeat', key: 'repeat', argument: 'N', parse: wholeNumber(1, 1000), commands: STUDY,
    defaultText: '1 in a sweep, 8 in a comparison',
    describe: 'how often each setting runs, or each endpoint of a comparison' },
  { name: 'rest', key: 'restMs', argument: 'TIME', parse: duration(0), fallback: '1s', commands: STUDY,
    describe: 'time between two runs' },
  { name: 'before-cell', key: 'beforeCell', argument: 'COMMAND', parse: anyText, commands: SWEEP,
    describe: 'a program to start before each run of a sweep, with its arguments; no shell reads them' },
  { name: 'dir', key: 'dir', argument: 'FOLDER', parse: fileName, commands: STUDY,
    defaultText: 'the name of the command',
    describe: 'where the run files and the results are kept; a sweep that was interrupted goes on there' },
  { name: 'preset', key: 'preset', argument: 'NAME', parse: oneOf(Object.keys(presets)), commands: SWEEP,
    describe: `a sweep with a name, whose options can still be given: ${Object.keys(presets).join(', ')}; flare rests 61s, as long as sockets wait` },
  { name: 'find', key: 'find', argument: 'OPTION', parse: oneOf(['rate', 'threads', 'in-flight', 'connections']), commands: SWEEP,
    describe: 'search for the highest value of this option for which --until holds, within its range if one is given' },
  { name: 'until', key: 'until', isList: true, argument: 'EXPR', parse: parseThreshold, commands: SWEEP,
    describe: "what has to hold, as for --threshold, such as 'p99<2s'; may be repeated" },
  { name: 'with', key: 'candidates', isRest: true, argument: 'FILE...', parse: pathName, commands: COMPARE,
    describe: 'the run files of the other side' },
  { name: 'rpc-a', key: 'rpcA', argument: 'URL', parse: endpoint, commands: COMPARE,
    describe: 'endpoint to compare with: runs are made on both in turn, A B B A' },
  { name: 'rpc-b', key: 'rpcB', argument: 'URL', parse: endpoint, commands: COMPARE,
    describe: 'endpoint to be compared with it' },
  { name: 'metric', key: 'metric', argument: 'NAME', parse: comparedMetric, fallback: 'tps', commands: COMPARE,
    describe: 'the figure that decides' },
  { name: 'fail-if', key: 'failIf', isList: true, argument: 'EXPR', parse: parseFailIf, commands: COMPARE,
    describe: "a change that must not be shown, such as 'tps<-10%'; exit code 99 if it is, or if there are too few runs to tell; may be repeated" },
  { name: 'allow-different', key: 'allowDifferent', argument: '', isFlag: true, parse: flag, fallback: 'false', commands: COMPARE,
    describe: 'compare runs although they asked for different things' },
  { name: 'over', key: 'over', argument: 'OPTION', parse: anyText, commands: TREND,
    defaultText: 'the only one that was swept',
    describe: 'the option that the figures are fitted against' },
]);
