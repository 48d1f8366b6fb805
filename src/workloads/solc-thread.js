/** A thread that compiles once: standard JSON in, standard JSON out. */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';

const solc = createRequire(import.meta.url)('solc');
parentPort?.postMessage(solc.compile(workerData));
