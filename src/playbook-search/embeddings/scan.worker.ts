import { parentPort } from 'node:worker_threads';
import type { ScanOrder, ScanResult } from './scan-thread.js';
import { scan } from './vector-scan.js';

if (!parentPort) throw new Error('Large scans run in a thread of the gateway');
const port = parentPort;
port.on('message', ({ id, query, blocks, rowsPerBlock, rows, top }: ScanOrder) => {
  const nearest = scan(query, blocks, rowsPerBlock, rows, top);
  port.postMessage({ id, nearest } satisfies ScanResult, [nearest.cosines.buffer]);
});
