import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { loadOnnxModel } from './onnx.model.js';
import type { TextModel } from './text-model.js';
import type { EmbedRequest, ModelOrder, ThreadNews } from './thread-messages.js';
import { loadUseLite } from './use-lite.model.js';

/** On Linux the priority of the calling thread alone: calls come first, what a model says follows. */
const politeness = 5;

if (!parentPort) throw new Error('Embedding models run in a thread of the gateway');
const port = parentPort;
const tell = (news: ThreadNews, moved: ArrayBuffer[] = []): void => port.postMessage(news, moved);
setPriority(politeness);

try {
  const model = await load(workerData as ModelOrder);
  tell({ loaded: { dimensions: model.dimensions } });
  let last = Promise.resolve();
  // One after the other: the model would only take turns anyway.
  port.on('message', (request: EmbedRequest) => {
    last = last.then(() => answer(model, request));
  });
} catch (error) {
  tell({ notLoaded: messageOf(error) });
}

function load(order: ModelOrder): Promise<TextModel> {
  return order.kind === 'use-lite' ? loadUseLite() : loadOnnxModel(order.model);
}

async function answer(model: TextModel, { id, texts }: EmbedRequest): Promise<void> {
  try {
    const vectors = new Float32Array(texts.length * model.dimensions);
    for (const [at, text] of texts.entries()) vectors.set(await model.embed(text), at * model.dimensions);
    tell({ id, vectors }, [vectors.buffer]);
  } catch (error) {
    tell({ id, error: messageOf(error) });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
