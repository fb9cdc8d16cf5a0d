import { Ajv2020 } from 'ajv/dist/2020.js';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { OpenApi, type Operation } from '../support/openapi.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';

let tk: TestApp;
let document: Json;
let api: OpenApi;

beforeAll(async () => {
  tk = await startApp({
    CUSTOM_TOOLS_DIR: join(__dirname, '..', '..', 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
  });
  document = (await tk.http.get('/openapi.json').expect(200)).body;
  api = new OpenApi(document);
});

afterAll(async () => {
  await tk.close();
});

const isOurs = ({ path }: Operation): boolean => !path.startsWith('/docs');

describe('the OpenAPI document', () => {
  it('lists every route with a summary, an id, a tag and its problem answers', () => {
    const listed = api.operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
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
    for (const { method, path, operation } of api.operations()) {
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
    for (const each of api.operations().filter(isOurs)) {
      for (const body of api.bodiesOf(each)) {
        const answer = await tk.http[each.method as 'get'](api.urlOf(each)).send(body as object);
        const where = `${each.method.toUpperCase()} ${api.urlOf(each)}`;
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
