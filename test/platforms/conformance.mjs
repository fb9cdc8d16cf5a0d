import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, its tools' processes, HTTP, the suite; mock: nothing

const suite = join(import.meta.dirname, 'node_modules', '.bin', 'conformance');
const run = promisify(execFile);
const fixture = join(import.meta.dirname, '..', 'fixtures', 'tools', 'content-tool.mjs');
/** Whatever a schema may hold that must reach the client as it is. */
const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'address',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  allOf: [{ anyOf: [{ required: ['name'] }, { maxProperties: 1 }] }],
  if: { required: ['address'] },
  then: { required: ['name'] },
  else: {},
  additionalProperties: false,
};
const tools = [
  'test_simple_text',
  'test_image_content',
  'test_audio_content',
  'test_embedded_resource',
  'test_multiple_content_types',
  'test_tool_with_logging',
  'test_tool_with_progress',
  'test_error_handling',
  'test_logging_tool',
  'test_streaming_elicitation',
  'json_schema_2020_12_tool',
  'test_header',
];
/** Of those that the suite asks to have one. */
const schemas = {
  json_schema_2020_12_tool: schema2020,
  test_header: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
};
/** Scenarios and checks about what a server of tools does not offer, and does not say that it offers. */
const notOffered = join(import.meta.dirname, 'not-offered.yaml');

describe('the conformance suite of MCP', () => {
  let server;
  before(async () => {
    server = await startPlatformServer();
    for (const name of tools) {
      await server.register({
        name,
        description: name,
        command: 'node',
        args: [fixture, `--as=${name}`],
        inputSchema: schemas[name],
      });
    }
  });
  after(() => server.stop());

  for (const revision of ['2025-06-18', '2025-11-25', '2026-07-28']) {
    it(`all that it asks of a server of the revision ${revision}`, async () => {
      const which = ['--suite', 'all', '--spec-version', revision, '--expected-failures', notOffered];
      await run(process.execPath, [suite, 'server', '--url', `${server.url}/mcp`, ...which], {
        cwd: server.folder,
      });
    });
  }
});
