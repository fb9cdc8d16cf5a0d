import { foreignProject } from '../auth/principal.decorator.js';
import { errorTable } from '../common/errors.js';
import { type BuiltinRun, defineTool } from '../tool-contract/define-tool.js';
import type { Tool } from '../tool-contract/tool.js';
import type { JsonSchema } from '../schemas/json-schema.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';

/** The most bytes of a data tool's answer, as JSON. */
export const mostBytes = 32_768;

/** One id or several: as a list, or as text with commas between them. */
export type Ids = string | readonly string[];

interface Common {
  readonly projectId?: string;
}

interface TraceToolSpec<Input> {
  readonly name: string;
  readonly description: string;
  /** The properties of its input, as published; `projectId` comes to them. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly timeoutMs?: number;
  readonly cacheTtlMs?: number;
  readonly asReused?: Tool['asReused'];
  /** It asks others than the store of spans, which `upstream` names. */
  readonly openWorld?: boolean;
  readonly upstream?: string;
  /** @returns the members of its answer beside `success` */
  readonly answer: (input: Input, project: string, run: BuiltinRun) => Promise<object>;
}

const projectId = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  description: "One of the caller's projects",
};

/** A list of ids, as published. */
export const ids = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
});

/** A tool that reads spans of one project and answers `{success: true, …}`, or `{success: false, error}`. */
export function traceTool<Input extends object>(spec: TraceToolSpec<Input>): Tool {
  const { answer, required = [], openWorld = false, ...said } = spec;
  const properties = { ...spec.properties, projectId };
  return defineTool<Input & Common>({
    upstream: 'The store of spans',
    ...said,
    published: { type: 'object', properties, required },
    // A missing field, or one too many, is told in the answer, where an agent reads it.
    input: { type: 'object', properties: loosened(properties), additionalProperties: false },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld },
    tags: ['traces'],
    // They tell of the errors of others.
    semanticErrors: 'off',
    fallback: (reason) => ({ success: false, error: reason }),
    refuses: ({ projectId: project }, caller) =>
      !caller.scopes.has('traces:read')
        ? 'Reading spans needs the scope traces:read'
        : project && foreignProject(caller, project),
    run: async (input, run) => {
      const project = input.projectId ?? run.context.projectId;
      return { success: true, ...(await answer(input, project, run)) };
    },
  });
}

/** Agents write one id as text, and several with commas. */
function loosened(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const text = { type: 'string', maxLength: 100_000 };
  const list = { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 512 } };
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      property['type'] === 'array' ? { anyOf: [list, text] } : property,
    ]),
  );
}

/** @returns undefined where none is given */
export function listOf(given: Ids | undefined): readonly string[] | undefined {
  const list = typeof given === 'string' ? given.split(',') : (given ?? []);
  const named = list.map((id) => id.trim()).filter((id) => id !== '');
  return named.length > 0 ? named : undefined;
}

/** The caller asked for what cannot be: no fault of the tool. */
export const misuse = (message: string): ToolFailure =>
  new ToolFailure('tool_error', message, { code: errorTable.invalid_input.jsonRpc });
