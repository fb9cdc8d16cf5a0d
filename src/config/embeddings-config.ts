import type { Environment } from './environment.js';

/** @returns undefined while no endpoint is named: playbooks are searched by words alone */
export function embeddings(env: Environment) {
  const {
    EMBEDDINGS_URL: url,
    EMBEDDINGS_MODEL: model,
    EMBEDDINGS_API_KEY: apiKey,
    EMBEDDINGS_CUT: cut,
  } = env;
  return url === undefined || model === undefined ? undefined : { url, model, apiKey, cut };
}

/** What does not go together, each said with its variable first. */
export function embeddingsProblems({ EMBEDDINGS_URL: url, EMBEDDINGS_MODEL: model }: Environment): string[] {
  if ((url === undefined) === (model === undefined)) return [];
  return url === undefined
    ? ['EMBEDDINGS_URL: EMBEDDINGS_MODEL needs the endpoint that has the model']
    : ['EMBEDDINGS_MODEL: EMBEDDINGS_URL needs the name of a model'];
}
