/**
 * Test files in one process, one after the other: starting node, loading the program and starting processes for
 * runStress() takes longer than most of them. What these helpers end when tests are over, they end after the last file.
 */
import { after, describe } from 'node:test';
import { stopAnvils } from './anvil.js';
import './cli.js';
import './endpoint.js';
import './fault-proxy.js';
import './pty.js';

// The reporter writes nothing more after an error of standard output: results would be missing without a word.
process.stdout.on('error', () => (process.exitCode = 1));

/** @param {Array<{name: string, url: string}>} files */
export function runTogether(files) {
  for (const { name, url } of files) {
    describe(name, async () => {
      await import(url);
      after(stopAnvils);
    });
  }
}
