import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadText } from '../../../src/core/describe.js';
import { readInvocation } from '../../../src/cli/config.js';

describe('loadText()', () => {
  /** @type {Array<[string, string]>} */
  const table = [
    ['-t 5 -d 30s', 'w: workload counter at p, for 30 s'],
    [
      '-t 5 --rate 100 --arrival poisson -d 90s',
      'w: workload counter at p, for 1m30s, 100 per second, Poisson arrivals',
    ],
    ['-t 5 --rate 3Mgas --mix transfer:1,erc20:2', 'p, until Ctrl-C, 3 Mgas per second, warm-up auto'],
    ['-t 5 --iterations 3 --stages 0:9/1s', 'w: workload counter at p, 3 times each, at most 1 s, 1 stage'],
  ];
  for (const [line, expected] of table)
    test(line, async () => {
      const invocation = await readInvocation(line.split(' '), {}, '0.0.0', { hasUsualConfig: false });
      assert.ok(invocation.kind === 'command');
      assert.ok(loadText(invocation.config, 'w', 'p').endsWith(expected), loadText(invocation.config, 'w', 'p'));
    });
});
