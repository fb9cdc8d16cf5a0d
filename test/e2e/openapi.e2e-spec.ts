import { Ajv2020 } from 'ajv/dist/2020.js';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';

const methods = ['get', 'post', 'patch', 'delete'] as const;
/** Removal last, so that the examples of the others find what they name. */
const order = (method: string): number => methods.indexOf(method as (typeof methods)[number]);

let tk: TestApp;
let document: Json;

beforeAll(async () => {
  tk = await startApp({
    CUSTOM_TOOLS_DIR: join(__dirname, '..', '..', 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
  });
  document = (await tk.http.get('/openapi.json').expect(200)).body;
});

afterAll(async () => {
  await tk.close();
});

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operation: Json;
}

function operations(): Operation[] {
  return Object.entries<Json>(document.paths)
    .flatMap(([path, item]) =>
      methods.filter((method) => item[method]).map((method) => ({ method, path, operation: item[method] })),
    )
    .sort((a, b) => order(a.method) - order(b.method));
}

const resolve = (schema: Json): Json =>
  schema?.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema;

/** The example of a schema: its own, or one built of its properties' examples. */
function exampleOf(schema: Json): unknown {
  const resolved = resolve(schema);
  if (resolved?.example !== undefined) return resolved.example;
  if (resolved?.allOf) return Object.assign({}, ...resolved.allOf.map(exampleOf));
  if (resolved?.default !== undefined) return resolved.default;
  if (resolved?.enum) return resolved.enum[0];
  if (resolved?.type === 'array') return [];
  if (!resolved?.properties) return undefined;
  const fields = Object.entries<Json>(resolved.properties)
    .map(([name, property]) => [name, exampleOf(property)] as const)
    .filter(([, example]) => example !== undefined);
  return Object.fromEntries(fields);
}

/** Every body that the document shows for an operation; one undefined where it takes none. */
function bodiesOf(operation: Json): unknown[] {
  const content = operation.requestBody?.content?.['application/json'];
  if (!content) return [undefined];
  if (content.examples) return Object.values<Json>(content.examples).map(({ value }) => value);
  return [content.example ?? exampleOf(content.schema)];
}

function urlOf({ path, operation }: Operation): string {
  let url = path;
  const query = new URLSearchParams();
  for (const { in: place, name, example, schema } of operation.parameters ?? []) {
    const value = example ?? exampleOf(schema);
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(String(value)));
    // A cursor is made by the server: no example could be valid.
    if (place !== 'query' || value === undefined || name === 'cursor') continue;
    // An exploded object: each of its members is a parameter.
    const members = typeof value === 'object' ? Object.entries(value as object) : [[name, value] as const];
    for (const [member, each] of members) query.set(member, String(each));
  }
  return query.size > 0 ? `${url}?${query.toString()}` : url;
}

const isOurs = ({ path }: Operation): boolean => !path.startsWith('/docs');

describe('the OpenAPI document', () => {
  it('lists every route with a summary, an id, a tag and its problem answers', () => {
    const listed = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(listed).toEqual(
      expect.arrayContaining([
        'POST /api/v1/tools/{name}/execute',
        'POST /api/v1/custom-tools/{name}/test',
        'GET /api/v1/tool-metrics/stats/{tool}',
        'GET /api/v1/tool-health/dashboard',
        'PATCH /api/v1/investigations/{id}',
        'GET /api/v1/playbooks/search',
        'GET /readyz',
        'GET /metrics',
      ]),
    );
    for (const { method, path, operation } of operations()) {
      const where = `${method} ${path}`;
      expect([where, operation.summary, operation.operationId, operation.tags]).toEqual([
        where,
        expect.any(String),
        expect.any(String),
        [expect.any(String)],
      ]);
      if (!path.startsWith('/api/')) continue;
      const problems = Object.keys(operation.responses).filter((status) => Number(status) >= 400);
      expect([where, problems.length > 0]).toEqual([where, true]);
    }
  });

  it('holds examples that run, and answers as it says', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    ajv.addSchema({ $id: 'doc', components: document.components }, 'doc');
    const run: string[] = [];
    const wrong: string[] = [];
    for (const each of operations().filter(isOurs)) {
      for (const body of bodiesOf(each.operation)) {
        const answer = await tk.http[each.method as 'get'](urlOf(each)).send(body as object);
        const where = `${each.method.toUpperCase()} ${urlOf(each)}`;
        run.push(where);
        const documented = each.operation.responses[answer.status];
        if (!documented) {
          wrong.push(`${where}: ${answer.status} is not documented: ${answer.text}`);
          continue;
        }
        if (answer.status >= 400 && answer.status !== 404)
          wrong.push(`${where}: ${answer.status} ${answer.text}`);
        const schema = documented.content?.['application/json']?.schema;
        if (!schema || !answer.type.endsWith('json')) continue;
        const text = JSON.stringify(schema).replaceAll('"#/components', '"doc#/components');
        const validate = ajv.compile(JSON.parse(text));
        if (!validate(answer.body))
          wrong.push(`${where}: ${ajv.errorsText(validate.errors)}\n${answer.text.slice(0, 500)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(run.length).toBeGreaterThan(40);
  });

  it('shows that a call can stream, where it can', () => {
    for (const path of ['/api/v1/tools/{name}/execute', '/api/v1/custom-tools/{name}/test']) {
      const { content } = document.paths[path].post.responses[200];
      expect(Object.keys(content)).toEqual(['application/json', 'text/event-stream']);
      expect(content['text/event-stream'].example).toMatch(
        /event: progress\n.*event: log\n.*event: outcome\n/s,
      );
    }
  });

  it('serves Swagger UI', async () => {
    const { text } = await tk.http.get('/docs').expect(200);
    expect(text).toContain('swagger-ui');
    await tk.http.get('/docs/swagger-ui-bundle.js').expect(200);
  });
});
