import { Logger } from '@nestjs/common';
import { Cancellation } from '../../base/common/cancellation.js';
import type { FieldProblem } from '../../base/common/errors.js';
import { noTracer } from '../../base/observability/tracing/tracer.js';
import { abortable } from '../../base/common/abortable.js';
import { Deadline } from '../../base/common/deadline.js';
import type { CallContext, ToolRun } from '../../web/contract/tool.js';
import { ToolFailure } from '../../web/contract/tool-outcome.js';
import { getPlaybooksTool } from './playbook-tools.js';
import type { FoundPlaybooks, PlaybookSearch, PlaybookAnswer, PlaybookSource } from './playbook-source.js';
import type { ShownPlaybooks } from '../playbooks/shown/shown-playbooks.js';

Logger.overrideLogger(false);

/** The definition as it was published. */
const seedDefinition = `{
    "name": "get_playbooks",
    "description": "Search for relevant remediation workflows via semantic search. Use when investigation requires finding applicable playbooks for the current incident. Recommended for complex failures or when multiple remediation options exist.",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "Natural language query describing the incident (required)"
            },
            "similarity_threshold": {
                "type": "number",
                "description": "Minimum cosine similarity score (0.0-1.0), default 0.70",
                "default": 0.70
            },
            "limit": {
                "type": "integer",
                "description": "Maximum number of playbooks to return (default 5, max 10)",
                "default": 5
            }
        },
        "required": ["query"]
    }
}`;

const answer: PlaybookAnswer = {
  playbooks: [{ playbook_id: 'a', version: '1.0.0', description: 'd', confidence: 0.9 }],
  total_results: 1,
};
const context: CallContext = {
  userId: 'u',
  requestId: 'r',
  projectId: 'default',
  labels: { environment: 'production' },
};

const runOf = (changes: Partial<ToolRun> = {}): ToolRun => ({
  executionId: 'e',
  context,
  principal: { userId: 'u', scopes: new Set() },
  deadline: Deadline.ofSmallest([5_000]),
  cancellation: new Cancellation(),
  probe: false,
  notes: { attempts: 1 },
  ...changes,
});

function makeTool(search: PlaybookSource['search'] = async () => ({ answer }), revision = '1') {
  const shown: [string, string[]][] = [];
  const source = { kind: 'catalogue', maxMs: 2_000, revision, search } as const;
  const memory: Pick<ShownPlaybooks, 'remember'> = {
    remember: (id, playbooks) => shown.push([id, playbooks.map(({ playbook_id: each }) => each)]),
  };
  return { tool: getPlaybooksTool(source, memory, noTracer, 3_600_000), shown };
}

describe('get_playbooks', () => {
  it("test_tool_definition_valid: is published to the letter as the seed's definition", () => {
    const { name, description, inputSchema } = makeTool().tool.definition;
    expect({ name, description, parameters: inputSchema }).toEqual(JSON.parse(seedDefinition));
    // The order of fields as well: this is what an LLM reads.
    expect(JSON.stringify({ name, description, parameters: inputSchema })).toBe(
      JSON.stringify(JSON.parse(seedDefinition)),
    );
  });

  it('is read-only, quick, and leaves the budget to the configuration', () => {
    const { definition } = makeTool().tool;
    expect(definition.annotations).toEqual({
      readOnly: true,
      idempotent: true,
      destructive: false,
      openWorld: false,
    });
    expect(definition.timeoutMs).toBe(2_000);
    expect(definition.cacheTtlMs).toBe(3_600_000);
    expect(definition.callsPerInvestigation).toBeUndefined();
    expect(definition.fallback).toEqual({ error: expect.any(String), fallback: 'continue_without_context' });
  });

  it.each<[string, unknown, string[]]>([
    ['only a query', { query: 'x' }, []],
    ['everything', { query: 'x', similarity_threshold: 0, limit: 10 }, []],
    ['the bounds', { query: 'x'.repeat(4_096), similarity_threshold: 1, limit: 1 }, []],
    ['no query', {}, ['/query']],
    ['a blank query', { query: ' \n' }, ['/query']],
    ['a query that is no text', { query: 5 }, ['/query']],
    ['a query that is null', { query: null }, ['/query']],
    ['a query too long', { query: 'x'.repeat(4_097) }, ['/query']],
    ['a threshold above 1', { query: 'x', similarity_threshold: 1.01 }, ['/similarity_threshold']],
    ['a threshold below 0', { query: 'x', similarity_threshold: -0.01 }, ['/similarity_threshold']],
    ['a threshold as text', { query: 'x', similarity_threshold: '0.7' }, ['/similarity_threshold']],
    ['a limit of 0', { query: 'x', limit: 0 }, ['/limit']],
    ['a limit of 11', { query: 'x', limit: 11 }, ['/limit']],
    ['half a limit', { query: 'x', limit: 2.5 }, ['/limit']],
    ['an unknown property', { query: 'x', 'labels/~': {} }, ['/labels~1~0']],
    ['a property of every object', JSON.parse('{"query":"x","constructor":1}'), ['/constructor']],
    [
      'all wrong at once',
      { query: '', similarity_threshold: 2, limit: 0, more: 1 },
      ['/query', '/similarity_threshold', '/limit', '/more'],
    ],
    ['a list', ['x'], ['']],
    ['null', null, ['']],
    ['text', 'x', ['']],
  ])('test_parameter_validation, test_validate_parameters: %s', async (_case, input, pointers) => {
    const problems = (await makeTool().tool.validate(input, 100)) as readonly FieldProblem[];
    expect(problems.map(({ pointer }) => pointer).sort()).toEqual(pointers.sort());
  });

  it('tells an LLM in words what is wrong with its input', async () => {
    const wrong = { query: ' ', similarity_threshold: 1.5, limit: 11, labels: {} };
    const problems = (await makeTool().tool.validate(wrong, 100)) as readonly FieldProblem[];
    expect(problems.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).sort()).toEqual([
      'labels is not a known field',
      'limit must be at most 10',
      'query must not be blank',
      'similarity_threshold must be at most 1',
    ]);
  });

  it('test_parse_tool_call, test_default_similarity_threshold: searches with the defaults and the labels of the context', async () => {
    const queries: PlaybookSearch[] = [];
    const { tool } = makeTool(async (query) => (queries.push(query), { answer }));
    expect(await tool.run({ query: 'OOMKilled' }, runOf())).toBe(answer);
    const unlabelled = runOf({ context: { ...context, labels: undefined } });
    expect(await tool.run({ query: 'x', similarity_threshold: 0, limit: 1 }, unlabelled)).toBe(answer);
    expect(queries).toEqual([
      { query: 'OOMKilled', labels: { environment: 'production' }, similarityThreshold: 0.7, limit: 5 },
      { query: 'x', labels: {}, similarityThreshold: 0, limit: 1 },
    ]);
  });

  it('test_format_response: answers in minified JSON, names in full', async () => {
    const text = JSON.stringify(await makeTool().tool.run({ query: 'x' }, runOf()));
    expect(text).toBe(
      '{"playbooks":[{"playbook_id":"a","version":"1.0.0","description":"d","confidence":0.9}],"total_results":1}',
    );
  });

  it('keeps answers apart by what decides them, and not by how it is written', () => {
    const { tool } = makeTool();
    const keys = [
      { query: 'x' },
      { query: 'x', limit: 5, similarity_threshold: 0.7 },
      { query: 'y' },
      { query: 'x', limit: 6 },
      { query: 'x', similarity_threshold: 0.71 },
    ].map((input) => JSON.stringify(tool.cacheKey?.(input)));
    expect(keys[0]).toBe(keys[1]);
    expect(new Set(keys).size).toBe(4);
    const later = makeTool(undefined, '2').tool;
    expect(JSON.stringify(later.cacheKey?.({ query: 'x' }))).not.toBe(keys[0]);
  });

  it('notes for how long a source lets its answer stand', async () => {
    const { tool } = makeTool(async () => ({ answer, ttlMs: 0, stale: true }));
    const run = runOf();
    await tool.run({ query: 'x' }, run);
    expect(run.notes).toMatchObject({ ttlMs: 0, stale: true });
  });

  it('remembers what an investigation was shown, from memory as well', async () => {
    const { tool, shown } = makeTool();
    const investigated = { ...context, investigationId: 'inv-1' };
    await tool.run({ query: 'x' }, runOf({ context: investigated }));
    tool.onReuse?.(answer, { ...investigated, investigationId: 'inv-2' });
    await tool.run({ query: 'x' }, runOf());
    tool.onReuse?.(answer, context);
    expect(shown).toEqual([
      ['inv-1', ['a']],
      ['inv-2', ['a']],
    ]);
  });

  it('test_handle_failure_gracefully: says that its upstream is away, without the reason', async () => {
    const { tool, shown } = makeTool(async () =>
      Promise.reject(new Error('password authentication failed for user "secret"')),
    );
    const failure = await tool.run({ query: 'x' }, runOf()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ToolFailure);
    expect(failure).toMatchObject({
      type: 'upstream_unavailable',
      message: 'Playbook search is not available',
    });
    expect(shown).toEqual([]);
  });

  it('says the same when the source gives no answer in time', async () => {
    const { tool } = makeTool(waiting);
    const late = tool.run({ query: 'x' }, runOf({ deadline: Deadline.ofSmallest([20]) }));
    await expect(late).rejects.toMatchObject({ type: 'upstream_unavailable' });
  });

  it('ends when its caller leaves', async () => {
    const { tool } = makeTool(waiting);
    const caller = new Cancellation();
    const left = tool.run({ query: 'x' }, runOf({ cancellation: caller }));
    caller.cancel();
    await expect(left).rejects.toMatchObject({ type: 'cancelled' });
    const early = tool.run({ query: 'x' }, runOf({ cancellation: caller }));
    await expect(early).rejects.toMatchObject({ type: 'cancelled' });
  });
});

/** A source without an end. */
const waiting: PlaybookSource['search'] = (_search, signal) =>
  abortable(new Promise<FoundPlaybooks>(() => undefined), signal);
