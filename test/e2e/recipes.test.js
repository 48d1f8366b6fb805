/** The recipes for CI and for Docker, as they are written; only times, and the port of the node, are others. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from 'js-yaml';
import { anvilBinary } from '../../src/chain/devchain.js';
import { freePort } from '../helpers/anvil.js';
import { ROOT, readJson, spawnStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { Job } from '../helpers/workflow.js';

/** @param {string} name of a file @param {Record<string, string>} others by the text that they replace @returns {any} */
function recipe(name, others) {
  let text = readFileSync(join(ROOT, name), 'utf8');
  if (name.endsWith('.md')) text = String(/^```yaml\n(.*?)^```/ms.exec(text)?.[1]);
  for (const [old, other] of Object.entries(others)) {
    assert.ok(text.includes(old), `${name} has no ${old}`);
    text = text.replaceAll(old, other);
  }
  return load(text);
}

/** `gh`, which keeps the comment. @param {string} folder */
function fakeGh(folder) {
  const comment = join(folder, 'comment.md');
  const script = `#!/bin/sh\n[ "$*" = "pr comment 7 --body-file $5" ] && [ "$GH_TOKEN" = secret ] && cp "$5" ${comment}\n`;
  writeFileSync(join(folder, 'gh'), script, { mode: 0o755 });
  return comment;
}

/** Name resolution of Docker: the service is this machine. */
const DNS_OF_COMPOSE = `--import=data:text/javascript,${encodeURIComponent(
  "import dns from 'node:dns'; const { lookup } = dns; dns.lookup = (host, ...rest) => lookup(host === 'node' ? '127.0.0.1' : host, ...rest);",
)}`;

describe('recipes', { concurrency: 3 }, () => {
  test('the job of README.md, in an empty repository', async (t) => {
    const job = new Job(t);
    const { jobs } = recipe('README.md', { '-d 30s': '-d 2s' });
    await job.run(jobs.load.steps, {});
    assert.ok(!job.hasFailed, job.output);
    const [junit, html] = job.uploaded.map((file) => readFileSync(file, 'utf8'));
    assert.match(junit, /failures="0".*\n[^]*name="tps&#62;=100"[^]*name="audit"/);
    assert.match(html, /<title>/);
    assert.match(job.summary, /^\*\*stress passed: 2 thresholds\*\*/);
  });

  test('pull-request.yml, in an empty repository', async (t) => {
    const folder = temporaryFolder(t);
    const comment = fakeGh(folder);
    const job = new Job(t, { PATH: `${folder}:${process.env.PATH}` });
    const { jobs } = recipe('docs/examples/pull-request.yml', {
      8545: String(await freePort()),
      '-t 50 -d 10s --time-limit 20m': '-t 2 -d 300ms --time-limit 2m --equivalent 50%',
    });
    const github = {
      ...{ token: 'secret', repository: 'user/node' },
      event: { number: 7, pull_request: { base: { sha: 'b' }, head: { sha: 'h' } } },
    };
    const { stress } = await job.run(jobs.compare.steps, { github });
    assert.match(stress.outputs.verdict, /TPS changed by .* pairs?\)/, job.output);
    const { failIf } = readJson(stress.outputs['run-file']);
    // How many pairs there is time for depends on the machine, and with few the condition fails.
    assert.equal(job.hasFailed, !failIf[0].passed, job.output);
    assert.ok(Number(stress.outputs.tps) > 0, stress.outputs.tps);
    assert.deepEqual(
      job.uploaded.map((file) => basename(file)),
      ['page.html', 'junit.xml'],
    );
    assert.equal(readFileSync(comment, 'utf8'), job.summary);
  });

  test('compose.yaml: stress waits for a node that starts late', async (t) => {
    const folder = temporaryFolder(t);
    const port = await freePort();
    const { services } = recipe('docs/examples/compose.yaml', { 8545: String(port), '-d 30s': '-d 3s' });
    const { node, stress } = services;
    assert.ok(existsSync(join(ROOT, stress.build.dockerfile)));
    const [[, inside]] = stress.volumes.map((/** @type {string} */ volume) => volume.split(':'));
    const args = stress.command.replaceAll(inside, folder).split(' ');
    const env = { ...stress.environment, NODE_OPTIONS: DNS_OF_COMPOSE };
    const run = spawnStress(args, { env, cwd: folder });
    await run.waitFor(/^waiting up to 60 s \(--wait-for\) for http:\/\/node:\d+ \(connection refused\)$/m);

    assert.deepEqual(node.entrypoint, ['anvil']);
    const home = join(folder, 'home');
    mkdirSync(home);
    // The container listens on all of its addresses; this machine needs only one.
    const command = node.command.replace('0.0.0.0', '127.0.0.1').split(' ');
    const chain = spawn(anvilBinary(), command, {
      stdio: 'ignore',
      env: { PATH: process.env.PATH, HOME: home, TMPDIR: home },
    });
    t.after(() => chain.kill('SIGKILL'));
    const { code, stdout, stderr } = await run.done;
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    assert.equal(readJson(join(folder, 'run.json')).audit.exact, true);
    for (const name of ['run.html', 'stress.xml']) assert.ok(existsSync(join(folder, name)), name);
  });
});
