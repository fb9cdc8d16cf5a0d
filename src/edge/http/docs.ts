import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { UnconfirmedView } from '../../web/auth/audit/audit.dto.js';
import { auditedOperation, isAct } from '../../web/auth/audit/audit.interceptor.js';
import { StaticFile } from '../../web/rest/static-file.js';

const tags = {
  tools: 'List and call the tools',
  'custom-tools': 'Register, change and watch executables as tools',
  'tool-metrics': 'What happened: every execution and its figures',
  'tool-health': 'What it means: grades, error patterns and circuits',
  investigations: 'What an investigation may still spend',
  playbooks: 'The catalogue that get_playbooks searches',
  traces: 'What agents did: spans, runs and threads',
  experiments: 'Calls of models, tried again with changes',
  pages: 'Tabs of the console that answer the tools of kind `ui`',
  assistant: 'Chats in which a language model calls the tools for a person',
  events: 'What happens to tools, as it happens',
  keys: 'API keys, and what was done with the rights of an administrator',
  session: 'Browsers that sign in',
  operations: 'Probes and metrics',
} as const;

/**
 * Serves docs/openapi.json at /openapi.json, and Swagger UI, which loads it, at /docs.
 * @param publicPath path below which a proxy shows the server
 */
export function setUpDocs(app: NestFastifyApplication, root: string, publicPath: string): void {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs')) route.onRequest = [...[route.onRequest ?? []].flat(), allowPage];
  });
  // Takes 8 ms; to draw it from the decorators took 0.3 s and 17 MB. A string of JSON contains no line break.
  const document = (): string =>
    readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')
      .replaceAll(/\n */g, '')
      .replace(`"url": "${anyPath}"`, () => `"url": ${JSON.stringify(publicPath || anyPath)}`);
  let file: StaticFile | undefined;
  fastify.get('/openapi.json', ({ headers }, reply) => {
    file ??= new StaticFile('application/json; charset=utf-8', Buffer.from(document()));
    return file.send(headers['accept-encoding'], reply);
  });
  SwaggerModule.setup('docs', app, {} as OpenAPIObject, {
    raw: ['yaml'],
    customSiteTitle: 'Toolkeeper',
    swaggerOptions: { url: `${publicPath}/openapi.json` },
    patchDocumentOnRequest: (request, _reply, empty) =>
      (request as FastifyRequest).url.startsWith('/docs-yaml')
        ? (JSON.parse(document()) as OpenAPIObject)
        : empty,
  });
}

/** The server of the document, unless a proxy shows it below a path. */
const anyPath = '/';

/** Swagger UI's page has styles within it, and pictures as data. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const allowPage: onRequestHookHandler = (_request, reply, done) => {
  void reply.header('content-security-policy', pagePolicy);
  done();
};

/** The document of docs/openapi.json, drawn from the decorators by `npm run client`. */
export function createDocument(app: NestFastifyApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle('Toolkeeper')
    .setDescription(
      'Runs the tools that AI agents call. A refused call answers application/problem+json; one that ran answers 200 with its outcome.',
    )
    .setVersion('1')
    .setContact('Toolkeeper operators', '', 'operators@example.com')
    .addServer(anyPath, 'This server')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key' }, 'bearer')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'x-api-key' }, 'apiKey')
    .addSecurityRequirements('bearer')
    .addSecurityRequirements('apiKey');
  for (const [name, description] of Object.entries(tags)) builder.addTag(name, description);
  const document = SwaggerModule.createDocument(app, builder.build(), {
    operationIdFactory: (_controller, method) => method,
    extraModels: [UnconfirmedView],
  });
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item as Record<string, Operation>))
      addUnconfirmed(path, method, operation);
  const { paths, components } = document;
  return {
    ...document,
    paths: sorted(paths),
    components: { ...components, schemas: sorted(components?.schemas) },
  };
}

/** Sorts members by name, because their order is that of the imports. */
const sorted = <T>(members: Record<string, T> = {}): Record<string, T> =>
  Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));

interface Operation {
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
  [auditedOperation]?: true;
}

/** Each act of an administrator on what is there may be answered so. */
function addUnconfirmed(path: string, method: string, operation: Operation): void {
  const { responses, [auditedOperation]: isAudited } = operation;
  delete operation[auditedOperation];
  if (!isAudited || !isAct(method.toUpperCase(), path) || responses['201']) return;
  const { content } = responses['200'] ?? {};
  const [own, more] = [content?.['application/json']?.schema, { $ref: getSchemaPath(UnconfirmedView) }];
  responses['202'] = {
    description: 'It is done, and some replicas have not confirmed within two seconds that they obey',
    content: { 'application/json': { schema: own ? { allOf: [own, more] } : more } },
  };
}
