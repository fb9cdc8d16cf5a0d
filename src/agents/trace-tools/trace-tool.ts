import { foreignProject } from '../../web/auth/principal.decorator.js';
import { errorTable } from '../../base/common/errors.js';
import { type BuiltinRun, defineTool } from '../../web/contract/define-tool.js';
import type { Tool } from '../../web/contract/tool.js';
import type { Scope } from '../../web/contract/principal.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { ToolFailure } from '../../web/contract/tool-outcome.js';

/** Max bytes of a trace tool's answer, as JSON: 32 KiB less the `success` that is added to it. */
export const maxBytes = 32_768 - 64;

interface TraceToolSpec<Query> {
  readonly name: string;
  readonly description: string;
  /** The properties of its input, as published; `projectId` is added. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  /** Required properties, whose absence is reported in the answer. */
  readonly required?: readonly string[];
  readonly timeoutMs?: number;
  readonly cacheTtlMs?: number;
  readonly asReused?: Tool['asReused'];
  /** Whether the tool reaches systems other than this server. */
  readonly openWorld?: boolean;
  /** The service behind it, for messages about failures; the store of spans when absent. */
  readonly upstream?: string;
  /** Scope that its callers need; `traces:read` when absent. */
  readonly scope?: Scope;
  readonly tags?: readonly string[];
  /**
   * @param query the input with REST's names (`thread_ids` for `threadIds`), without empty lists
   * @param project the project in the input, otherwise that of the call
   * @returns the members of the answer beside `success`
   */
  readonly answer: (query: Query, project: string, run: BuiltinRun) => Promise<object>;
}

const projectId = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  description: "One of the caller's projects",
};

/** The published schema of a list of ids. */
export const ids = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
});

/** A tool that reads what was recorded in a project and answers `{success: true, …}`, or `{success: false, error}`. */
export function traceTool<Query>(spec: TraceToolSpec<Query>): Tool {
  const { answer, required = [], openWorld = false, ...rest } = spec;
  const properties = { ...spec.properties, projectId };
  return defineTool<Readonly<Record<string, unknown>> & { readonly projectId?: string }>({
    upstream: 'The store of spans',
    scope: 'traces:read',
    tags: ['traces'],
    ...rest,
    published: { type: 'object', properties, required },
    // Missing and unknown fields are reported in the answer, where the agent sees them.
    input: { type: 'object', properties: withTextLists(properties), additionalProperties: false },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld },
    // Their results describe errors of other tools.
    semanticErrors: 'off',
    fallback: (reason) => ({ success: false, error: reason }),
    refuses: ({ projectId: project }, caller) => project && foreignProject(caller, project),
    run: async (input, run) => {
      const members = new Map(
        Object.entries(input).map(([name, value]) => {
          const isList = spec.properties[name]?.['type'] === 'array';
          return [name, isList ? idsIn(value as Ids) : value];
        }),
      );
      const missing = required.find((name) => isEmpty(members.get(name)));
      if (missing !== undefined) throw misuse(`${missing} is required`);
      const query = [...members].map(([name, value]) => [snakeCase(name), value]);
      const project = input.projectId ?? run.context.projectId;
      return { success: true, ...(await answer(Object.fromEntries(query) as Query, project, run)) };
    },
  });
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'string' && value.trim() === '');
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, '_$&').toLowerCase();

/** Properties whose lists may also be text: agents write one id as text, and several with commas. */
function withTextLists(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const text = { type: 'string', maxLength: 100_000 };
  const list = { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 512 } };
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      property['type'] === 'array' ? { anyOf: [list, text] } : property,
    ]),
  );
}

/** One id or several: as a list, or as text with commas between them. */
type Ids = string | readonly string[];

/** The ids of an input. @returns undefined if it has none */
function idsIn(given: Ids): readonly string[] | undefined {
  const list = typeof given === 'string' ? given.split(',') : given;
  const present = list.map((id) => id.trim()).filter((id) => id !== '');
  return present.length > 0 ? present : undefined;
}

/**
 * The requested ids without duplicates.
 * @param verb for the message, such as "retrieved"
 * @throws ToolFailure for more than `max`
 */
export function distinctSpans(ids: readonly string[], max: number, verb: string): string[] {
  const distinct = [...new Set(ids)];
  if (distinct.length <= max) return distinct;
  throw misuse(`Maximum ${max} spans can be ${verb} at once. Please reduce the number of span_ids.`);
}

/** A mistake of the caller, which does not count as a fault of the tool. */
export const misuse = (message: string): ToolFailure =>
  new ToolFailure('tool_error', message, { code: errorTable.invalid_input.jsonRpc });
