/** The nginx of the HTTP benchmark: one process that answers one JSON-RPC request, always the same, from memory. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch } from '../../src/chain/devchain.js';
import { freePort } from './lib.js';

const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1b4"}';
const START_TIMEOUT_MS = 5000;
const POLL_MS = 50;

/** A log, or connections that nginx closes after a thousand requests, would be what is measured. @param {number} port */
function configuration(port) {
  return `
daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  default_type application/json;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { return 200 '${ANSWER}'; }
    location = /status { stub_status; }
  }
}
`;
}

/** @returns {Promise<{url: string, version: string, requests: () => Promise<number>, stop: () => Promise<void>}>} */
export async function startNginx() {
  const folder = mkdtempSync(join(tmpdir(), 'stress-nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(port));
  // The keeper ends nginx however this process ends.
  const own = join(folder, 'run');
  const nginx = ['nginx', '-p', own, '-c', file];
  const { keeper, stop: end } = launch(nginx, { graceMs: 0, folder: own }, { env: process.env, output: 2 });
  const stop = async () => {
    await end();
    rmSync(folder, { recursive: true, force: true });
  };

  const url = `http://127.0.0.1:${port}/`;
  /** What it has answered so far, by which the tools' own counts are checked. */
  const requests = async () => {
    const response = await fetch(`${url}status`, { headers: { connection: 'close' } });
    // Three numbers on a line: connections accepted, connections handled, requests.
    const match = /^ (\d+) (\d+) (\d+) $/m.exec(await response.text());
    if (match === null) throw new Error('nginx does not tell its requests');
    return Number(match[3]);
  };
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline && keeper.exitCode === null) {
    if (await requests().catch(() => null)) return { url, version: version(), requests, stop };
    await sleep(POLL_MS);
  }
  await stop();
  throw new Error('nginx did not start');
}

function version() {
  return /nginx\/[\d.]+/.exec(spawnSync('nginx', ['-v'], { encoding: 'utf8' }).stderr)?.[0] ?? 'nginx';
}
