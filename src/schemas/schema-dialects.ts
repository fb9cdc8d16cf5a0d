import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema } from './json-schema.js';

export type SchemaCompiler = Ajv | Ajv2019 | Ajv2020;
type Dialect = new (options: ConstructorParameters<typeof Ajv>[0]) => SchemaCompiler;

/** A schema, ready for the compiler of its dialect. */
interface InDialect {
  readonly Dialect: Dialect;
  readonly own: JsonSchema;
  /** Its dialect is not known here; it is read as the nearest. */
  readonly warning?: string;
}

/** Draft-06 lacks some of draft-07's keywords, and has no others. */
const known =
  /^"(|https:\/\/json-schema\.org\/draft\/20(20-12|19-09)\/schema#?|http:\/\/json-schema\.org\/draft-0[67]\/schema#?)"$/;

/** Reads `$schema`; a schema without one is of 2020-12. */
export function inDialect({ $schema, ...own }: JsonSchema): InDialect {
  const named = JSON.stringify($schema ?? '');
  const draft = /draft[-/]?0?([1-7])\b/i.exec(named)?.[1];
  const nearest = draft ? 'draft-07' : /2019-09/.test(named) ? '2019-09' : '2020-12';
  return {
    Dialect: draft ? Ajv : nearest === '2019-09' ? Ajv2019 : Ajv2020,
    own: Number(draft) <= 4 ? withNumericLimits(own) : own,
    ...(!known.test(named) && {
      warning: `its $schema ${named.slice(0, 100)} is not known here; it is read as JSON Schema ${nearest}`,
    }),
  };
}

/** Translates draft-04, in which `exclusiveMinimum: true` changes the meaning of `minimum`; in later drafts it is a limit itself. */
const withNumericLimits = (schema: JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(schema), (_name, value: unknown) => {
    const node = value as Record<string, unknown> | null;
    for (const limit of ['Minimum', 'Maximum'] as const) {
      const flag = node?.[`exclusive${limit}`];
      if (!node || typeof flag !== 'boolean') continue;
      const name = limit.toLowerCase();
      node[`exclusive${limit}`] = flag ? node[name] : undefined;
      if (flag) node[name] = undefined;
    }
    return node;
  }) as JsonSchema;
