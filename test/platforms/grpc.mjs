import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPlatformServer } from './platform-server.mjs';
import { installPython, noVenv, python } from './python.mjs';

// real: the built server, gRPC, a client that grpcio-tools makes of the proto file; mock: nothing

const versions = installPython();
const camel = (name) => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** Numbers of 64 bits are text in protobuf's JSON; when a report was made differs. */
function assertSame(name, told, rest) {
  if (/^(checked_at|until)$/.test(name)) return;
  if (typeof told !== 'object') return assert.equal(String(told), String(rest), name);
  for (const [field, value] of Object.entries(told))
    assertSame(field, value, field in rest ? rest[field] : rest[camel(field)]);
}

describe('gRPC', { skip: versions ? false : noVenv }, () => {
  let server;
  before(async () => (server = await startPlatformServer({ GRPC_PORT: '0' })));
  after(() => server.stop());

  it('a client that Python generates reads each field as REST has it', async () => {
    const [, port] = /gRPC listens on port (\d+)/.exec(server.log());
    const key = server.key.authorization.replace('Bearer ', '');
    const program = join(import.meta.dirname, 'grpc_client.py');
    const docs = join(import.meta.dirname, '..', '..', 'docs');
    const given = [program, `127.0.0.1:${port}`, key, docs];
    const { stdout } = await promisify(execFile)(python, given, { timeout: 100_000 });
    const { refused, ...answers } = JSON.parse(stdout);
    assert.equal(refused, 'UNAUTHENTICATED');
    const paths = {
      recorded: `tool-metrics/executions/${answers.recorded.metric_id}`,
      report: 'tool-health/code_search',
      system: 'tool-health',
      summary: 'tool-health/summary?periodHours=2',
      info: 'tool-health/code_search/info',
      stats: 'tool-metrics/stats/code_search?since=2026-01-01',
      advice: 'tool-health/code_search/circuit/advice?errorThreshold=1',
    };
    assert.equal(answers.report.total_calls, '10');
    assert.equal(answers.report.status, 'degraded');
    for (const [name, path] of Object.entries(paths)) assertSame(name, answers[name], await server.ask(path));
  });
});
