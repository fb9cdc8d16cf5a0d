import type { ReactNode } from 'react';
import { Note } from '../../ui/layout.js';

/** The missing settings of a server without a language model. */
export const NoModel = (): ReactNode => (
  <Note tone="warn">
    <strong>No language model is configured, so experiments cannot run.</strong> Set <code>LLM_BASE_URL</code>{' '}
    to an OpenAI-compatible endpoint and <code>LLM_MODEL</code> to a model, and <code>LLM_API_KEY</code> if
    the endpoint needs a key. Then restart the server, for example:{' '}
    <code>LLM_BASE_URL=http://localhost:11434/v1 LLM_MODEL=llama3.2 npm start</code>
  </Note>
);
