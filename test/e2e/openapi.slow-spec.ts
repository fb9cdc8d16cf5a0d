import { Ajv2020 } from 'ajv/dist/2020.js';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { OpenApi, type Operation } from '../support/openapi.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';

let tk: TestApp;
let document: Json;
let described: OpenApi;

beforeAll(async () => {
  tk = await startApp({
    CUSTOM_TOOLS_DIR: join(__dirname, '..', '..', 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
    SANDBOX_GRANTABLE_PATHS: '/var/log',
    // An example limits the processor, which not every host can enforce.
    SANDBOX: 'best-effort',
  });
  document = (await tk.http.get('/openapi.json').expect(200)).body;
  described = new OpenApi(document);
});

afterAll(async () => {
  await tk.close();
});

const isOurs = ({ path }: Operation): boolean => !path.startsWith('/docs');
/** A stream and nothing else: its answer has no end. */
const ends = ({ operation }: Operation): boolean =>
  Object.keys(operation.responses[200]?.content ?? {}).join() !== 'text/event-stream';

describe('the OpenAPI document', () => {
  it('holds examples that run, and answers as it says', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    ajv.addSchema({ $id: 'doc', components: document.components }, 'doc');
    const run: string[] = [];
    const wrong: string[] = [];
    // The examples share a playbook, whose states have an order.
    const states = ['deprecate', 'archive'];
    const rank = ({ path }: Operation): number => states.indexOf(path.split('/').at(-1) ?? '');
    const operations = described.operations().filter(isOurs).filter(ends);
    for (const each of operations.sort((one, other) => rank(one) - rank(other))) {
      for (const body of described.bodiesOf(each)) {
        const answer = await tk.http[each.method as 'get'](described.urlOf(each)).send(body as object);
        const where = `${each.method.toUpperCase()} ${described.urlOf(each)}`;
        run.push(where);
        const documented = each.operation.responses[answer.status];
        if (!documented) {
          wrong.push(`${where}: ${answer.status} is not documented: ${answer.text}`);
          continue;
        }
        // A key that stands in an example opens nothing, and this server takes no access tokens.
        const tolerated =
          { 'POST /api/v1/session': 401, 'POST /api/v1/access-rules/test': 409 }[where] ?? 404;
        if (answer.status >= 400 && answer.status !== tolerated)
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
});
