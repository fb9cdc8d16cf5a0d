import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, its tools' processes, HTTP, the suite; mock: nothing

const bin = join(import.meta.dirname, 'node_modules', '.bin');
const run = promisify(execFile);
const fixture = join(import.meta.dirname, '..', 'fixtures', 'tools', 'content-tool.mjs');
const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
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
  'json_schema_2020_12_tool',
];
/** What a server of tools has to do; the suite's others are about prompts, resources and questions to the client. */
const scenarios = [
  'server-initialize',
  'logging-set-level',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-with-logging',
  'tools-call-with-progress',
  'tools-call-error',
  'json-schema-2020-12',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
];

describe('the conformance suite of MCP', () => {
  let server;
  before(async () => {
    server = await startPlatformServer();
    for (const name of tools) {
      const schema = name.startsWith('json') && { inputSchema: schema2020 };
      await server.register({
        name,
        description: name,
        command: 'node',
        args: [fixture, `--as=${name}`],
        ...schema,
      });
    }
  });
  after(() => server.stop());

  for (const scenario of scenarios) {
    it(scenario, async () => {
      const asked = ['server', '--url', `${server.url}/mcp`, '--scenario', scenario];
      await run(process.execPath, [join(bin, 'conformance'), ...asked], { cwd: server.folder });
    });
  }
});
