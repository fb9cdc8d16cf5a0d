import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  type EmbeddingCalibration,
  type EmbeddingKind,
  EmbeddingUnavailable,
} from '../embedding-provider.js';
import type { OnnxModel } from './thread-messages.js';

export interface ModelDirectory {
  /** Of the files' contents: equal on every replica, another after every change. */
  readonly id: string;
  readonly model: OnnxModel;
  readonly prefixes: Readonly<Record<EmbeddingKind, string>>;
  readonly calibration: EmbeddingCalibration;
}

/** What `toolkeeper.json` beside the model may say. */
interface ModelSettings {
  readonly pooling: 'cls' | 'mean';
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  readonly maxTokens: number;
  readonly calibration: EmbeddingCalibration;
}

const settingsFile = 'toolkeeper.json';
/** Sentence transformers pool over the tokens unless they say otherwise; the calibration is that of bge-small. */
const defaults: ModelSettings = {
  pooling: 'mean',
  queryPrefix: '',
  documentPrefix: '',
  maxTokens: 512,
  calibration: { floor: 0.5, cut: 0.65 },
};

/**
 * Reads a directory with one `*.onnx`, one `*tokenizer.json` and perhaps a `toolkeeper.json`.
 * @throws EmbeddingUnavailable `misconfigured` that says what is missing or wrong
 */
export async function readModelDirectory(directory: string): Promise<ModelDirectory> {
  const files = await readdir(directory).catch((cause: unknown) => {
    throw misconfigured(directory, 'cannot be read', cause);
  });
  const modelFile = join(directory, theOne(directory, files, '.onnx'));
  const tokenizerFile = join(directory, theOne(directory, files, 'tokenizer.json'));
  const settings = files.includes(settingsFile) ? await settingsIn(directory) : defaults;
  const { pooling, maxTokens, calibration, queryPrefix: query, documentPrefix: document } = settings;
  const facts = [await hashOf(modelFile), await hashOf(tokenizerFile), pooling, maxTokens, query, document];
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16);
  return {
    id: `onnx:${digest}`,
    model: { directory, modelFile, tokenizerFile, pooling, maxTokens },
    prefixes: { query, document },
    calibration,
  };
}

function theOne(directory: string, files: readonly string[], ending: string): string {
  const found = files.filter((file) => file.endsWith(ending));
  const [file] = found;
  if (file === undefined || found.length > 1) {
    throw misconfigured(directory, `must hold exactly one file that ends in ${ending}, not ${found.length}`);
  }
  return file;
}

async function settingsIn(directory: string): Promise<ModelSettings> {
  const text = await readFile(join(directory, settingsFile), 'utf8');
  const given = parsed(text);
  if (!given) throw misconfigured(directory, `${settingsFile} is not a JSON object`);
  const unknown = Object.keys(given).find((key) => !(key in checks));
  if (unknown !== undefined) throw misconfigured(directory, `${settingsFile}: there is no ${unknown}`);
  for (const [key, { isRight, rule }] of Object.entries(checks)) {
    if (key in given && !isRight(given[key])) {
      throw misconfigured(directory, `${settingsFile}: ${key} must be ${rule}`);
    }
  }
  return { ...defaults, ...given };
}

const checks: Record<
  keyof ModelSettings,
  { readonly isRight: (value: unknown) => boolean; readonly rule: string }
> = {
  pooling: { isRight: (value) => value === 'cls' || value === 'mean', rule: 'cls or mean' },
  queryPrefix: { isRight: (value) => typeof value === 'string', rule: 'text' },
  documentPrefix: { isRight: (value) => typeof value === 'string', rule: 'text' },
  maxTokens: {
    isRight: (value) => Number.isInteger(value) && Number(value) >= 8 && Number(value) <= 8_192,
    rule: 'an integer from 8 to 8192',
  },
  calibration: { isRight: isCalibration, rule: '{floor, cut} with -1 <= floor < cut < 1' },
};

function isCalibration(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { floor, cut } = value as Partial<EmbeddingCalibration>;
  return typeof floor === 'number' && typeof cut === 'number' && -1 <= floor && floor < cut && cut < 1;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: 1_048_576 }), hash);
  return hash.digest('hex');
}

function misconfigured(directory: string, what: string, cause?: unknown): EmbeddingUnavailable {
  return new EmbeddingUnavailable('misconfigured', `The model directory ${directory}: ${what}`, { cause });
}
