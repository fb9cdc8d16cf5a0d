import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema } from './tool.js';

export type SchemaCompiler = Ajv | Ajv2019 | Ajv2020;
type Dialect = new (options: ConstructorParameters<typeof Ajv>[0]) => SchemaCompiler;

/** By what `$schema` says. Servers of MCP's own SDK, the most that there are, write draft-07. */
const known: readonly unknown[] = [
  undefined,
  null,
  'https://json-schema.org/draft/2020-12/schema',
  'https://json-schema.org/draft/2019-09/schema',
  'http://json-schema.org/draft-07/schema',
  // It lacks some of draft-07's keywords, and has no others.
  'http://json-schema.org/draft-06/schema',
];
const draft04 = /draft[-/]?0?[1-4]\b/i;

/** The dialect of a schema, and the schema as that reads it. A dialect that is not known here is read as the nearest. */
export function inDialect({ $schema, ...own }: JsonSchema): { Dialect: Dialect; own: JsonSchema } {
  const named = String($schema);
  if (draft04.test(named)) return { Dialect: Ajv, own: withNumericLimits(own) };
  if (/draft[-/]?0?[5-7]\b/i.test(named)) return { Dialect: Ajv, own };
  return { Dialect: /2019-09/.test(named) ? Ajv2019 : Ajv2020, own };
}

/** Returns undefined for a dialect that is known. */
export function dialectWarning({ $schema }: JsonSchema): string | undefined {
  if (known.includes(typeof $schema === 'string' ? $schema.replace(/#$/, '') : $schema)) return undefined;
  const { Dialect } = inDialect({ $schema });
  const nearest = Dialect === Ajv ? 'draft-07' : Dialect === Ajv2019 ? '2019-09' : '2020-12';
  return `its $schema ${JSON.stringify($schema).slice(0, 100)} is not known here; it is read as JSON Schema ${nearest}`;
}

/** In draft-04 `exclusiveMinimum: true` changes what `minimum` means; in later drafts it is a limit itself. */
const withNumericLimits = (schema: JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(schema), (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    const node = value as Record<string, unknown>;
    for (const [flag, limit] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      if (typeof node[flag] !== 'boolean') continue;
      if (node[flag]) [node[flag], node[limit]] = [node[limit], undefined];
      else delete node[flag];
    }
    return node;
  }) as JsonSchema;
