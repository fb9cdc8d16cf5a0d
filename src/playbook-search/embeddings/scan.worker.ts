import { workerData } from 'node:worker_threads';
import { answerCalls } from '../../common/worker-calls.js';
import type { ScanData, ScanOrder } from './scan-thread.js';
import { VectorScan } from './vector-scan.js';

const { product, vectors } = workerData as ScanData;
const scan = new VectorScan(product, vectors, 'thread');
answerCalls(({ query, rows, top }: ScanOrder) => scan.nearest(query, rows, top));
