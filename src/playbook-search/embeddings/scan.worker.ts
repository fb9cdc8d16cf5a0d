import { parentPort, workerData } from 'node:worker_threads';
import type { ScanData, ScanOrder, ScanResult } from './scan-thread.js';
import { VectorScan } from './vector-scan.js';

if (!parentPort) throw new Error('Large scans run in a thread of the gateway');
const port = parentPort;
const { product, vectors } = workerData as ScanData;
const scan = new VectorScan(product, vectors, 'thread');
port.on('message', ({ id, query, rows, top }: ScanOrder) => {
  const nearest = scan.nearest(query, rows, top);
  port.postMessage({ id, nearest } satisfies ScanResult, [nearest.cosines.buffer]);
});
