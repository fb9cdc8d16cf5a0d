import { defineTool } from '../../../web/contract/define-tool.js';
import type { Tool } from '../../../web/contract/tool.js';
import { noteAge, withoutContext } from '../playbook-source.js';
import type { ContextRequest, DataStorageClient } from './data-storage-client.js';

interface Input {
  readonly alert_fingerprint: string;
  readonly similarity_threshold: number;
  readonly context_types?: readonly string[];
}

/** Tells what happened at earlier incidents of an alert. Offered only if a Data Storage service is configured. */
export const getContext = (
  client: Pick<DataStorageClient, 'enrichContext' | 'maxMs'>,
  cacheTtlMs: number,
): Tool =>
  defineTool<Input>({
    name: 'get_context',
    description:
      'Retrieve historical context for similar incidents. Use when investigation requires knowing how incidents ' +
      'like the current one went before. Recommended for recurring or complex failures.',
    input: {
      type: 'object',
      properties: {
        alert_fingerprint: {
          type: 'string',
          description: 'Fingerprint of the alert under investigation (required)',
          maxLength: 1_024,
          pattern: '\\S',
        },
        similarity_threshold: {
          type: 'number',
          description: 'Minimum cosine similarity score (0.0-1.0), default 0.70',
          default: 0.7,
          minimum: 0,
          maximum: 1,
        },
        context_types: {
          type: 'array',
          items: { type: 'string', maxLength: 128, pattern: '\\S' },
          maxItems: 32,
          description: 'Types of context to return; all when left out',
        },
      },
      required: ['alert_fingerprint'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: ['incidents'],
    timeoutMs: client.maxMs,
    cacheTtlMs,
    upstream: 'Historical context',
    // Its answers are about errors.
    semanticErrors: 'off',
    fallback: withoutContext,
    cacheKey: requestOf,
    run: async (asked, { signal, notes }) => {
      const found = await client.enrichContext(requestOf(asked), signal);
      noteAge(notes, found);
      return found.answer;
    },
  });

const requestOf = ({ alert_fingerprint, similarity_threshold, context_types }: Input): ContextRequest => ({
  alertFingerprint: alert_fingerprint,
  similarityThreshold: similarity_threshold,
  // Equal sets ask the same.
  ...(context_types && { contextTypes: [...new Set(context_types)].sort() }),
});
