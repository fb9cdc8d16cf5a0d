import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { DrainLoop } from './drain-loop.js';
import type { DrainNews, DrainOrders, DrainRequest } from './drain-messages.js';
import { PostgresRowSink } from './row-sink.js';

/** On Linux the priority of the calling thread alone: calls come first, their records follow. */
const politeness = 5;

if (!parentPort) throw new Error('The drain runs as a thread of the gateway');
const port = parentPort;
setPriority(politeness);
const orders = workerData as DrainOrders;
const sink = new PostgresRowSink(orders.sink);
const loop = new DrainLoop(orders, sink, (news: DrainNews) => port.postMessage(news));
port.on('message', (request: DrainRequest) => loop.ask(request));
await loop.run();
await sink.close();
port.close();
