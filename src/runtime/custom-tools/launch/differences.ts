import { canonicalJson } from '../../../base/common/canonical-json.js';
import { Problem } from '../../../base/common/errors.js';
import type { InputSchemas } from '../../../base/schemas/input-validator.js';
import { calledName, reviewedIn, reviewTools } from '../../mcp-client/mcp-review.js';
import type { Handshake } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/** Warns if the executable's name differs from the registered one, which is used; often a change was forgotten. */
export function nameWarning({ name, protocol }: CustomTool, handshake: Handshake = {}): string[] {
  if (protocol === 'mcp' || handshake.name === name) return [];
  return handshake.name === undefined
    ? ['The executable does not say its name in initialize']
    : [`The executable says in initialize that its name is ${shorten(handshake.name)}`];
}

/** Sentences about fields in which a registration differs from the executable. The registration is used. */
export function differences(tool: CustomTool, handshake: Handshake): string[] {
  if (tool.protocol === 'mcp') {
    return reviewTools(tool.definitions ?? [], reviewedIn(handshake)).flatMap(({ name, state, why }) =>
      state === 'callable' ? [] : [`${calledName(tool.name, name)} is not callable (${state}): ${why}`],
    );
  }
  const fields = ['name', 'description', 'version', 'inputSchema'] as const;
  return fields.flatMap((field) => {
    const answered = handshake[field];
    if (answered === undefined) return [`${field}: the executable does not say its own in initialize`];
    if (canonicalJson(answered) === canonicalJson(tool[field])) return [];
    return [
      `${field}: the registration says ${shorten(tool[field])}, the executable says ${shorten(answered)}`,
    ];
  });
}

/** Warnings about the executable's input schema: ignored or reinterpreted places, or why it would be refused. */
export async function schemaFaults(
  schemas: InputSchemas,
  { protocol }: CustomTool,
  { inputSchema: own }: Handshake,
): Promise<readonly string[]> {
  if (protocol === 'mcp' || own === undefined) return [];
  return schemas.compile(own).then(
    ({ warnings }) => warnings,
    (error: unknown) => {
      if (!(error instanceof Problem)) throw error;
      return [`inputSchema: the executable's own would be refused: ${error.detail}`];
    },
  );
}

/** A value as JSON, cut off after 200 characters. */
function shorten(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
