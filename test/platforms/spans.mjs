import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { LegacyOpenTelemetry, OpenTelemetry } from '@ai-sdk/otel';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { generateText, isStepCount, jsonSchema, tool } from 'ai';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, HTTP, OpenTelemetry's exporters, the AI SDK and both forms of its spans; mock: the model

const { ClusterFiles } = await import('../../src/base/database/embedded/cluster-files.ts');
const { startScriptedModel } = await import('../support/scripted-model.ts');
const { until } = await import('../support/wait.ts');

describe('spans that an agent exports', () => {
  let database;
  let server;
  let model;
  before(async () => {
    model = await startScriptedModel();
    server = await startPlatformServer();
    const cluster = new ClusterFiles(join(server.folder, 'postgres'));
    const login = `toolkeeper:${cluster.password()}`;
    database = new pg.Client(`postgres://${login}@127.0.0.1:${cluster.postmaster().port}/postgres`);
    await database.connect();
  });
  after(async () => {
    await database?.end();
    await server?.stop();
    await model?.close();
  });

  /** An agent whose model calls a tool once, then answers. */
  async function runAgent(thread, Exporter, Integration, compression) {
    const exporter = new Exporter({
      url: `${server.url}/v1/traces`,
      headers: { ...server.key },
      compression,
    });
    const provider = new TracerProvider({
      resource: resourceFromAttributes({ 'toolkeeper.thread_id': thread }),
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    });
    const summary = tool({
      description: 'A summary of log text',
      inputSchema: jsonSchema({
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
      }),
      execute: () => Promise.resolve({ error: 'failed to open: disk full' }),
    });
    await generateText({
      model: createOpenAICompatible({ name: 'scripted', baseURL: `${model.url}/v1` })('scripted'),
      tools: { log_summary: summary },
      prompt: 'A summary of this text: "ERROR disk full", top 3',
      stopWhen: isStepCount(3),
      telemetry: {
        isEnabled: true,
        integrations: [new Integration({ tracer: provider.getTracer('agent') })],
      },
    });
    await provider.shutdown();
  }

  /** The spans of a thread once its root, which ends last, is among them. */
  async function stored(thread) {
    const text = 'SELECT * FROM spans WHERE thread_id = $1 ORDER BY start_us';
    const { rows } = await database.query(text, [thread]);
    return rows.some(({ parent_span_id }) => parent_span_id === null) && rows;
  }

  const ways = [
    ['JSON', JsonExporter, OpenTelemetry, 'none'],
    ['JSON, gzipped', JsonExporter, LegacyOpenTelemetry, 'gzip'],
    ['protobuf', ProtobufExporter, LegacyOpenTelemetry, 'none'],
    ['protobuf, gzipped', ProtobufExporter, OpenTelemetry, 'gzip'],
  ];
  for (const [way, Exporter, Integration, compression] of ways) {
    it(`count each call of a model once: ${way}, in the form ${Integration.name}`, async () => {
      const thread = `agent-${way}`;
      await runAgent(thread, Exporter, Integration, compression);
      const spans = await until(() => stored(thread), { what: 'the spans of the agent' });
      const calls = spans.filter(({ call_part }) => call_part === 'whole');
      const tools = spans.filter(({ kind }) => kind === 'tool');
      assert.deepEqual(
        {
          models: calls.map(({ model, input_tokens, output_tokens }) => [model, input_tokens, output_tokens]),
          asked: calls.map(({ tool_calls }) => tool_calls?.map(({ name }) => name)),
          told: calls.map(({ tool_errors }) =>
            tool_errors?.map(({ tool_name, message }) => [tool_name, message]),
          ),
          tools: tools.map(({ tool_name, semantic_severity }) => [tool_name, semantic_severity]),
        },
        {
          models: [
            ['scripted', '100', '20'],
            ['scripted', '100', '20'],
          ],
          asked: [['log_summary'], undefined],
          told: [undefined, [['log_summary', '{"error":"failed to open: disk full"}']]],
          tools: [['log_summary', 'high']],
        },
      );
      assert.equal(new Set(spans.map(({ trace_id }) => trace_id)).size, 1);
    });
  }
});
