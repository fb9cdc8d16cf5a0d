import type { Tracer } from '../../base/observability/tracing/tracer.js';
import type { ShownPlaybooks } from '../playbooks/shown/shown-playbooks.js';
import type { CallContext, Tool } from '../../web/contract/tool.js';
import { defineTool } from '../../web/contract/define-tool.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { noteAge, type PlaybookAnswer, type PlaybookSource, withoutContext } from './playbook-source.js';
import type { ContextRequest, DataStorageClient } from './data-storage/data-storage-client.js';

interface SearchInput {
  readonly query: string;
  readonly similarity_threshold: number;
  readonly limit: number;
}

/** The published schema. Platforms rely on it, so it must not change in any character. */
const publishedInput = {
  type: 'object',
  properties: {
    query: {
      type: 'string',
      description: 'Natural language query describing the incident (required)',
    },
    similarity_threshold: {
      type: 'number',
      description: 'Minimum cosine similarity score (0.0-1.0), default 0.70',
      default: 0.7,
    },
    limit: {
      type: 'integer',
      description: 'Maximum number of playbooks to return (default 5, max 10)',
      default: 5,
    },
  },
  required: ['query'],
};

const { properties } = publishedInput;
/** The schema that inputs are checked against: the published one, with limits. */
const checkedInput: JsonSchema = {
  ...publishedInput,
  properties: {
    query: { ...properties.query, maxLength: 4_096, pattern: '\\S' },
    similarity_threshold: { ...properties.similarity_threshold, minimum: 0, maximum: 1 },
    limit: { ...properties.limit, minimum: 1, maximum: 10 },
  },
  additionalProperties: false,
};

/**
 * The tool with which an LLM searches for playbooks. Labels come from the call's context, never from the LLM. If the
 * search fails, the LLM gets the fallback.
 */
export function getPlaybooksTool(
  source: PlaybookSource,
  shown: Pick<ShownPlaybooks, 'remember'>,
  tracer: Tracer,
  cacheTtlMs: number,
): Tool {
  const remember = ({ playbooks }: PlaybookAnswer, { investigationId }: CallContext): void => {
    if (investigationId !== undefined) shown.remember(investigationId, playbooks);
  };
  return defineTool<SearchInput>({
    name: 'get_playbooks',
    description:
      'Search for relevant remediation workflows via semantic search. Use when investigation requires finding ' +
      'applicable playbooks for the current incident. Recommended for complex failures or when multiple ' +
      'remediation options exist.',
    input: checkedInput,
    published: publishedInput,
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: ['incidents', 'playbooks'],
    timeoutMs: source.maxMs,
    cacheTtlMs,
    upstream: 'Playbook search',
    // Its answers describe errors.
    semanticErrors: 'off',
    fallback: withoutContext,
    // Answers depend on the catalogue's revision.
    cacheKey: (search) => [source.revision, search],
    // The investigation sees cached answers as well.
    onReuse: (answer, context) => remember(answer as PlaybookAnswer, context),
    run: async ({ query, similarity_threshold: similarityThreshold, limit }, { context, signal, notes }) => {
      const search = { query, similarityThreshold, limit, labels: context.labels ?? {} };
      const attributes = {
        'toolkeeper.playbooks.source': source.kind,
        'toolkeeper.playbooks.limit': limit,
        'toolkeeper.playbooks.labels': Object.keys(search.labels).length,
      };
      const result = await tracer.span('playbooks.search', attributes, async (span) => {
        const found = await source.search(search, signal);
        span.set({ 'toolkeeper.playbooks.found': found.answer.total_results });
        if (found.stale) span.set({ 'toolkeeper.playbooks.stale': true });
        return found;
      });
      noteAge(notes, result);
      remember(result.answer, context);
      return result.answer;
    },
  });
}

interface ContextInput {
  readonly alert_fingerprint: string;
  readonly similarity_threshold: number;
  readonly context_types?: readonly string[];
}

/** The tool that returns earlier incidents of an alert. Offered only if a Data Storage service is configured. */
export const getContextTool = (
  client: Pick<DataStorageClient, 'enrichContext' | 'maxMs'>,
  cacheTtlMs: number,
): Tool =>
  defineTool<ContextInput>({
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
    // Its answers describe errors.
    semanticErrors: 'off',
    fallback: withoutContext,
    cacheKey: requestOf,
    run: async (input, { signal, notes }) => {
      const result = await client.enrichContext(requestOf(input), signal);
      noteAge(notes, result);
      return result.answer;
    },
  });

const requestOf = ({
  alert_fingerprint,
  similarity_threshold,
  context_types,
}: ContextInput): ContextRequest => ({
  alertFingerprint: alert_fingerprint,
  similarityThreshold: similarity_threshold,
  // Sorted, so that equal sets are equal requests.
  ...(context_types && { contextTypes: [...new Set(context_types)].sort() }),
});
