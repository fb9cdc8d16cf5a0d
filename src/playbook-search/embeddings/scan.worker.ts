import { parentPort, workerData } from 'node:worker_threads';
import type { ScanOrder, ScanResult } from './scan-thread.js';
import type { ProductModule } from './vector-product.js';
import { VectorScan } from './vector-scan.js';

if (!parentPort) throw new Error('Large scans run in a thread of the gateway');
const port = parentPort;
const product = workerData as ProductModule;
port.on('message', ({ id, vectors, query, rows, top }: ScanOrder) => {
  // Made for each order, in microseconds: the table may be another one.
  const nearest = new VectorScan(product, vectors, 'thread').nearest(query, rows, top);
  port.postMessage({ id, nearest } satisfies ScanResult, [nearest.cosines.buffer]);
});
