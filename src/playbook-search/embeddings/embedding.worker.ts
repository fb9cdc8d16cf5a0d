import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { answerCalls } from '../../common/worker-calls.js';
import { loadOnnxModel } from './onnx.model.js';
import type { TextModel } from './text-model.js';
import type { EmbedRequest, ModelOrder } from './thread-messages.js';
import { loadUseLite } from './use-lite.model.js';

/** On Linux the priority of the calling thread alone: calls come first, what a model says follows. */
const politeness = 5;

setPriority(politeness);
let model: TextModel | undefined;
answerCalls(async (request: EmbedRequest) => {
  model ??= await load(workerData as ModelOrder);
  return 'load' in request ? model.dimensions : model.embed(request.text);
});

function load(order: ModelOrder): Promise<TextModel> {
  return order.kind === 'use-lite' ? loadUseLite() : loadOnnxModel(order.model);
}
