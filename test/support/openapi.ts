import type { Json } from './json.js';

const methods = ['get', 'post', 'patch', 'delete'] as const;
/** Removal last, so that the examples of the others find what they name. */
const order = (method: string): number => methods.indexOf(method as (typeof methods)[number]);

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operation: Json;
}

/** The OpenAPI document of a server, and the requests that its examples make. */
export class OpenApi {
  constructor(private readonly document: Json) {}

  operations(): Operation[] {
    return Object.entries<Json>(this.document.paths)
      .flatMap(([path, item]) =>
        methods.filter((method) => item[method]).map((method) => ({ method, path, operation: item[method] })),
      )
      .sort((a, b) => order(a.method) - order(b.method));
  }

  /** Every body that the document shows for an operation; one undefined where it takes none. */
  bodiesOf({ operation }: Operation): unknown[] {
    const { content: given } = operation.requestBody ?? {};
    if (!given) return [undefined];
    const content = given['application/json'];
    // Files: no example could hold them.
    if (!content) return [];
    if (content.examples) return Object.values<Json>(content.examples).map(({ value }) => value);
    return [content.example ?? this.exampleOf(content.schema)];
  }

  /** @param given values of parameters that take the place of their examples */
  urlOf({ path, operation }: Operation, given: Readonly<Record<string, string>> = {}): string {
    let url = path;
    const query = new URLSearchParams();
    for (const { in: place, name, example, schema } of operation.parameters ?? []) {
      const value = given[name] ?? example ?? this.exampleOf(schema);
      if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(String(value)));
      // A cursor is made by the server: no example could be valid.
      if (place !== 'query' || value === undefined || (name === 'cursor' && given[name] === undefined))
        continue;
      // An exploded object: each of its members is a parameter.
      if (Array.isArray(value)) {
        query.set(name, value.join(','));
        continue;
      }
      const members = typeof value === 'object' ? Object.entries(value as object) : [[name, value] as const];
      for (const [member, each] of members) query.set(member, String(each));
    }
    return query.size > 0 ? `${url}?${query.toString()}` : url;
  }

  /** The example of a schema: its own, or one built of its properties' examples. */
  private exampleOf(schema: Json): unknown {
    const resolved = schema?.$ref ? this.document.components.schemas[schema.$ref.split('/').at(-1)] : schema;
    if (resolved?.example !== undefined) return resolved.example;
    if (resolved?.allOf)
      return Object.assign({}, ...resolved.allOf.map((each: Json) => this.exampleOf(each)));
    if (resolved?.default !== undefined) return resolved.default;
    if (resolved?.enum) return resolved.enum[0];
    if (resolved?.type === 'array') return resolved.minItems > 0 ? undefined : [];
    if (!resolved?.properties) return undefined;
    const fields = Object.entries<Json>(resolved.properties)
      .map(([name, property]) => [name, this.exampleOf(property)] as const)
      .filter(([, example]) => example !== undefined);
    return Object.fromEntries(fields);
  }
}
