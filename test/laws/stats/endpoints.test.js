import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpointsOf } from '../../../src/stats/recorder.js';
import { numbered } from '../../../src/text.js';
import { equalBy } from '../../helpers/equal-by.js';

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
    const run = /** @type {any} */ ({
      environment: { endpoints },
      generator: {},
      window: { durationMs: 1000 },
      rates: {},
    });
    equalBy(endpointsOf(run), ({ display }) => display, ['http://a/*** (1)', 'http://a/*** (2)']);
  });
});
