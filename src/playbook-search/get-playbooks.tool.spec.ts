import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import type { Tool } from '../tool-contract/tool.js';
import type { CallContext } from '../tool-contract/call-context.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';
import type { ToolRegistry } from '../tools/tool-registry.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import type { PlaybookAnswer } from './playbook.types.js';
import type { FoundPlaybooks, PlaybookSearch, PlaybookSource } from './playbook-source.js';

Logger.overrideLogger(false);

/** The definition as seed 002 (BR-HAPI-046) prints it. */
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

const signal = new AbortController().signal;

function makeTool(search: (search: PlaybookSearch) => Promise<FoundPlaybooks> = async () => ({ answer })) {
  const registered: Tool[] = [];
  const registry = { register: (tool: Tool) => registered.push(tool) } as unknown as ToolRegistry;
  const source: PlaybookSource = { kind: 'catalogue', longestMs: 2_000, revision: '1', search };
  const tool = new GetPlaybooksTool(registry, source);
  return { tool, registered };
}

describe('get_playbooks', () => {
  it("is published to the letter as the seed's definition", () => {
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
    expect(definition.callsPerInvestigation).toBeUndefined();
    expect(definition.fallback).toEqual({ error: expect.any(String), fallback: 'continue_without_context' });
  });

  it('registers itself', () => {
    const { tool, registered } = makeTool();
    tool.onModuleInit();
    expect(registered).toEqual([tool]);
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
  ])('validates %s', (_case, input, pointers) => {
    expect(
      makeTool()
        .tool.validate(input)
        .map(({ pointer }) => pointer),
    ).toEqual(pointers);
  });

  it('never throws while it validates', () => {
    fc.assert(fc.property(fc.anything(), (input) => void makeTool().tool.validate(input)));
  });

  it('searches with the defaults and the labels of the context', async () => {
    const queries: PlaybookSearch[] = [];
    const { tool } = makeTool(async (query) => (queries.push(query), { answer }));
    expect(await tool.run({ query: 'OOMKilled' }, { context, signal })).toBe(answer);
    expect(
      await tool.run(
        { query: 'x', similarity_threshold: 0, limit: 1 },
        { context: { ...context, labels: undefined }, signal },
      ),
    ).toBe(answer);
    expect(queries).toEqual([
      { query: 'OOMKilled', labels: { environment: 'production' }, similarityThreshold: 0.7, limit: 5 },
      { query: 'x', labels: {}, similarityThreshold: 0, limit: 1 },
    ]);
  });

  it('says that its upstream is away when the catalogue cannot be read, without its reason', async () => {
    const { tool } = makeTool(async () =>
      Promise.reject(new Error('password authentication failed for user "secret"')),
    );
    const failure = await tool.run({ query: 'x' }, { context, signal }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ToolFailure);
    expect(failure).toMatchObject({
      type: 'upstream_unavailable',
      message: 'Playbook search is not available',
    });
  });
});
