import { parentPort, workerData } from 'node:worker_threads';
import { yamlToJson } from './yaml-documents.js';

/** What the thread answers. */
export type YamlAnswer = { readonly json: string } | { readonly error: string };

function answer(): YamlAnswer {
  try {
    return { json: yamlToJson(workerData as string) };
  } catch (error) {
    return { error: (error as Error).message.split('\n')[0] ?? '' };
  }
}

parentPort?.postMessage(answer());
