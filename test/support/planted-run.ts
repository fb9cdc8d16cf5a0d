import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

/** A run of an agent in which things went wrong under status success, or the same run as it should have been. */
export interface Run {
  /** Its conversation, which is a thread here. */
  readonly thread: string;
  readonly isPlanted: boolean;
  /** A call that was answered by `ordersFound`, and the execution that it was. */
  readonly executionId: string;
}

/** A tool's answer that looks like a good one, or is one. */
export const ordersFound = (isPlanted: boolean): object =>
  isPlanted
    ? { orders: [], message: 'customer 4711 not found' }
    : { orders: [{ id: 'A-7' }], message: 'customer 4711 has one order' };

/** The planted pieces of spans, by the kind of failure that each shows. */
const planted = {
  'Silent failure': '"orders":[]',
  'Buried warning': 'WARNING: 3 rates are missing, those of last week stand in for them',
  'Gradual degradation': 'Ask later.',
  'Wrong tool': 'unknown tool: get_wether',
} as const;

/** The conclusion of whoever finds all of it, in the order of time. */
export const wentWrong = [
  `Silent failure of find_orders: ${planted['Silent failure']}`,
  `Buried warning of exchange_rates: ${planted['Buried warning']}`,
  `Gradual degradation: ${planted['Gradual degradation']}`,
  `Wrong tool of get_wether: ${planted['Wrong tool']}`,
].join('\n');

interface PlannedSpan {
  readonly name: string;
  readonly ms: number;
  readonly attributes: Readonly<Record<string, string>>;
}

const toolSpan = (tool: string, given: object, result: string, more: object = {}): PlannedSpan => ({
  name: 'execute_tool',
  ms: 40,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.call.arguments': JSON.stringify(given),
    'gen_ai.tool.call.result': result,
    ...more,
  },
});

const chatSpan = (ms: number, said: string, messages: readonly object[]): PlannedSpan => ({
  name: 'chat',
  ms,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'scripted',
    'gen_ai.input.messages': JSON.stringify(messages),
    'gen_ai.output.messages': JSON.stringify([
      { role: 'assistant', parts: [{ type: 'text', content: said }] },
    ]),
  },
});

const question = (content: string): object => ({ role: 'user', parts: [{ type: 'text', content }] });
const rates = (n: number): string => `EUR/X${n} 1.0${n % 10}, as of this morning. `.repeat(12);

function plan({ isPlanted, executionId }: Run): PlannedSpan[] {
  const warning = isPlanted ? `${planted['Buried warning']}. ` : '';
  const weather = isPlanted ? 'get_wether' : 'get_weather';
  const asked = { type: 'tool_call', id: 'call-1', name: weather, arguments: { city: 'Bern' } };
  const heard = isPlanted ? `Error: ${planted['Wrong tool']}` : '9 degrees, light rain';
  const turns = ['all the details', 'fewer details', 'one detail', 'none'].map((left, turn) =>
    chatSpan(
      isPlanted ? 700 * 3 ** turn : 700,
      isPlanted && turn === 3
        ? planted['Gradual degradation']
        : `A part of the report, with ${isPlanted ? left : 'all the details'}. `.repeat(
            isPlanted ? 8 >> turn : 8,
          ),
      [question(`Part ${turn + 1} of the report`)],
    ),
  );
  return [
    toolSpan('find_orders', { customer: 4711 }, JSON.stringify(ordersFound(isPlanted)), {
      'toolkeeper.execution_id': executionId,
    }),
    toolSpan('exchange_rates', { day: 'today' }, `${rates(1)}${warning}${rates(2)}`),
    ...turns,
    chatSpan(700, 'It is mild in Bern.', [
      question('How is the weather in Bern?'),
      { role: 'assistant', parts: [asked] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', response: heard }] },
    ]),
  ];
}

/** Exports the spans of a run by OpenTelemetry: one after the other, below that of the agent. */
export async function exportRun(server: { url: string; key: object }, run: Run): Promise<void> {
  const exporter = new OTLPTraceExporter({ url: `${server.url}/v1/traces`, headers: { ...server.key } });
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  const tracer = provider.getTracer('agent');
  const thread = { 'gen_ai.conversation.id': run.thread };
  const spans = plan(run);
  let now = Date.now() - spans.reduce((total, { ms }) => total + ms, 1_000);
  const agent = tracer.startSpan('invoke_agent', {
    startTime: now,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', ...thread },
  });
  for (const { name, ms, attributes } of spans) {
    const options = { startTime: now, attributes: { ...attributes, ...thread } };
    const span = tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, agent));
    now += ms;
    span.end(now);
  }
  agent.end(now);
  await provider.shutdown();
}
