import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema } from './tool.js';

export type SchemaCompiler = Ajv | Ajv2019 | Ajv2020;
type Dialect = new (options: ConstructorParameters<typeof Ajv>[0]) => SchemaCompiler;

/** By what `$schema` says. Servers of MCP's own SDK, the most that there are, write draft-07. */
const dialects: ReadonlyMap<string, Dialect> = new Map<string, Dialect>([
  ['https://json-schema.org/draft/2020-12/schema', Ajv2020],
  ['https://json-schema.org/draft/2019-09/schema', Ajv2019],
  ['http://json-schema.org/draft-07/schema', Ajv],
  // It lacks some of draft-07's keywords, and has no others.
  ['http://json-schema.org/draft-06/schema', Ajv],
]);

/** The dialect of a schema, 2020-12 where it names none. @throws Error that lists the known ones */
export function dialectOf({ $schema }: JsonSchema): Dialect {
  if ($schema === undefined) return Ajv2020;
  const found = typeof $schema === 'string' && dialects.get($schema.replace(/#$/, ''));
  if (!found) throw new Error(`$schema must be one of ${[...dialects.keys()].join(', ')}, or absent`);
  return found;
}
