/**
 * Loaded into the server beside its own code, in each of its threads (`node --import`): on SIGUSR2 every thread
 * collects its garbage, and the main one writes what memory is left into the file CHAOS_PROBE.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { setImmediate as turn } from 'node:timers/promises';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

const session = new Session();
session.connect();
const channel = new BroadcastChannel('memory-probe');
channel.unref();
/** A thread that has ended meanwhile has nothing to collect. */
const timeoutMs = 2_000;

/**
 * `gc()` leaves V8's cache of compiled code alone, which holds the schemas of tools that are gone. A collection empties
 * it, and what it held is freed by the next ones, in later turns: measured, the third leaves nothing to the fourth.
 */
async function collectHere() {
  for (let n = 0; n < 3; n++) {
    session.post('HeapProfiler.collectGarbage');
    await turn();
  }
}

if (isMainThread) serveProbe();
else serveMain();

function serveMain() {
  channel.onmessage = async ({ data }) => {
    if (data !== 'collect') return;
    await collectHere();
    channel.postMessage({ collected: threadId, heapUsed: process.memoryUsage().heapUsed });
  };
  channel.postMessage({ began: threadId });
}

function serveProbe() {
  const file = process.env.CHAOS_PROBE;
  const threads = new Set();
  let waiting = new Map();
  let finish = () => undefined;
  let taken = 0;

  channel.onmessage = ({ data }) => {
    if (data.began !== undefined) threads.add(data.began);
    if (data.collected === undefined) return;
    waiting.set(data.collected, data.heapUsed);
    if ([...threads].every((thread) => waiting.has(thread))) finish();
  };

  process.on('SIGUSR2', async () => {
    waiting = new Map();
    const all = new Promise((resolve) => (finish = resolve));
    const timer = setTimeout(() => finish(), timeoutMs);
    channel.postMessage('collect');
    if (threads.size > 0) await all;
    clearTimeout(timer);
    for (const thread of threads) if (!waiting.has(thread)) threads.delete(thread);
    await collectHere();
    const { rss, heapUsed, external } = process.memoryUsage();
    const inThreads = [...waiting.values()].reduce((sum, bytes) => sum + bytes, 0);
    // Whole or not at all: the reader looks while this is written.
    writeFileSync(`${file}.new`, JSON.stringify({ taken: ++taken, rss, heapUsed, external, inThreads }));
    renameSync(`${file}.new`, file);
  });
}
