import * as tokenizers from '@huggingface/tokenizers';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type TextModel, toUnitLength } from './text-model.js';
import type { OnnxModel } from './thread-messages.js';

/** What is used of onnxruntime-node, which only those install who have a model directory: it is 290 MB. */
interface Tensor {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}
interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(inputs: Record<string, unknown>): Promise<Record<string, Tensor>>;
}
interface OnnxRuntime {
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => unknown;
  readonly InferenceSession: { create(path: string, options: object): Promise<Session> };
}

/** What is used of the package, whose own types are not found under `nodenext`. */
interface Tokenizer {
  encode(text: string): { readonly ids: readonly number[] };
}
const { Tokenizer: TokenizerOf } = tokenizers as unknown as {
  readonly Tokenizer: new (tokenizer: object, settings: object) => Tokenizer;
};

const runtimeName = 'onnxruntime-node';

/**
 * Loads the model and its tokenizer.
 * @throws Error that tells the operator what to install or to mend
 */
export async function loadOnnxModel(settings: OnnxModel): Promise<TextModel> {
  const runtime = onnxRuntime(settings.directory);
  const tokenizer = await tokenizerFrom(settings.tokenizerFile);
  // One thread of the model: calls of tools come first.
  const session = await runtime.InferenceSession.create(settings.modelFile, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const embed = async (text: string): Promise<Float32Array<ArrayBuffer>> => {
    const ids = shortened(tokenizer.encode(text).ids, settings.maxTokens);
    const outputs = await session.run(inputsOf(runtime, session, ids));
    return toUnitLength(pooled(outputOf(session, outputs), settings.pooling));
  };
  return { dimensions: (await embed('dimensions')).length, embed };
}

/** The model's directory may bring its own runtime; else it is the one beside Toolkeeper's packages. */
function onnxRuntime(directory: string): OnnxRuntime {
  const places = [join(directory, 'package.json'), join(import.meta.dirname, 'package.json')];
  for (const place of places) {
    const load = createRequire(place);
    if (canResolve(load)) return load(runtimeName) as OnnxRuntime;
  }
  throw new Error(
    `EMBEDDINGS_PROVIDER=onnx needs ${runtimeName}, which is not installed: run ` +
      `ONNXRUNTIME_NODE_INSTALL=skip npm install --prefix ${directory} ${runtimeName}@1.30.0`,
  );
}

function canResolve(load: NodeJS.Require): boolean {
  try {
    load.resolve(runtimeName);
    return true;
  } catch {
    return false;
  }
}

async function tokenizerFrom(file: string): Promise<Tokenizer> {
  const tokenizer: object = JSON.parse(await readFile(file, 'utf8')) as object;
  return new TokenizerOf(tokenizer, {});
}

/** The last token closes the text for the model and stays. */
export function shortened(ids: readonly number[], max: number): readonly number[] {
  const last = ids.at(-1);
  return ids.length <= max || last === undefined ? ids : [...ids.slice(0, max - 1), last];
}

function inputsOf(
  { Tensor }: OnnxRuntime,
  { inputNames }: Session,
  ids: readonly number[],
): Record<string, unknown> {
  const values: Record<string, BigInt64Array> = {
    input_ids: BigInt64Array.from(ids, BigInt),
    attention_mask: new BigInt64Array(ids.length).fill(1n),
    token_type_ids: new BigInt64Array(ids.length),
  };
  return Object.fromEntries(
    inputNames.map((name) => {
      const data = values[name];
      if (!data) throw new Error(`The model wants an input ${name}, which is unknown`);
      return [name, new Tensor('int64', data, [1, ids.length])];
    }),
  );
}

function outputOf({ outputNames }: Session, outputs: Record<string, Tensor>): Tensor {
  const [first = ''] = outputNames;
  const known = ['sentence_embedding', 'last_hidden_state'].find((name) => name in outputs);
  const output = outputs[known ?? first];
  if (!output) throw new Error('The model has no output');
  return output;
}

/** @param output [1, dimensions], or [1, tokens, dimensions] and then pooled over the tokens */
export function pooled({ dims, data }: Tensor, pooling: OnnxModel['pooling']): Float32Array<ArrayBuffer> {
  const dimensions = dims.at(-1) ?? 0;
  if (dims.length === 2 || pooling === 'cls') return Float32Array.from(data.subarray(0, dimensions));
  const vector = new Float32Array(dimensions);
  for (let at = 0; at < data.length; at++) {
    const place = at % dimensions;
    vector[place] = (vector[place] ?? 0) + (data[at] ?? 0);
  }
  return vector;
}
