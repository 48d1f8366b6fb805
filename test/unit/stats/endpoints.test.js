import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { merge } from '../../../src/stats/merge.js';
import { GENERATOR } from '../../../src/stats/metrics.js';
import { endpointsOf } from '../../../src/stats/recorder.js';
import { numbered } from '../../../src/text.js';

describe('endpoints by name', () => {
  it('have their places where they look the same, and only then', () => {
    assert.deepEqual(numbered(['http://a/***', 'http://b', 'http://a/***']), [
      'http://a/*** (1)',
      'http://b',
      'http://a/*** (3)',
    ]);
    assert.deepEqual(numbered(['http://a']), ['http://a']);
  });

  it('are told apart in the figures of a run', () => {
    const endpoints = ['http://a/***', 'http://a/***'].map((display) => ({ display, clientVersion: null }));
    const run = /** @type {any} */ ({ environment: { endpoints }, generator: {}, window: { durationMs: 1000 } });
    assert.deepEqual(
      endpointsOf(run).map(({ display }) => display),
      ['http://a/*** (1)', 'http://a/*** (2)'],
    );
  });
});

describe('the common stall', () => {
  /** @param {Array<object | undefined>} stalls */
  const commonStall = (stalls) =>
    stalls.map((submissionStall) => ({ submissionStall })).reduce((a, b) => merge(GENERATOR, a, b)).submissionStall;
  const stall = (/** @type {number} */ fromMs, /** @type {number} */ toMs) => ({ fromMs, toMs, words: 'HTTP 503' });
  it('is when no thread had a submission accepted', () => {
    assert.deepEqual(commonStall([stall(1, 9), stall(3, 12)]), stall(3, 9));
    assert.deepEqual(commonStall([stall(1, 9)]), stall(1, 9));
    assert.equal(commonStall([stall(1, 9), stall(10, 12)]), undefined);
    assert.equal(commonStall([stall(1, 9), undefined]), undefined);
  });
});
