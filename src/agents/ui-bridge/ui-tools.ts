import { isDatabaseUnavailable } from '../../base/common/errors.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { defineTool } from '../../web/contract/define-tool.js';
import type { Tool, ToolAnnotations } from '../../web/contract/tool.js';
import { ToolFailure } from '../../web/contract/tool-outcome.js';
import type { UiBridge } from './ui-bridge.js';

/** A tool that a page answers. */
interface UiToolSpec {
  readonly name: string;
  readonly description: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  /** More keywords of its input's schema, such as a condition. */
  readonly schemaRule?: JsonSchema;
  /** `readOnly` when absent. */
  readonly annotations?: Partial<ToolAnnotations>;
  readonly timeoutMs?: number;
  /** Advice for an agent whose page does not answer the tool; absent: any screen does, and the page is to be reloaded. */
  readonly advice?: string;
}

const defaultTimeoutMs = 5_000;
/** Longer, because a model has to answer. */
const runTimeoutMs = 60_000;

/** Tools that change at most what the page shows. */
const readOnly: Partial<ToolAnnotations> = {
  readOnly: true,
  idempotent: true,
  destructive: false,
  openWorld: false,
};
const changing: Partial<ToolAnnotations> = { ...readOnly, readOnly: false };

/** Advice for agents whose page does not answer a tool, by the screen on which it does. */
const fromTrace = 'open a trace first, with navigate_to and the url /traces/{trace id}';
const fromTraces = 'open the list of traces first, with navigate_to and the url /traces';
const fromExperiment = 'open an experiment first, with navigate_to_experiment';

/** Schemas of a text, and of one text or a list. */
const text = (description: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: 2_048,
  description,
});
const texts = (description: string): JsonSchema => ({
  anyOf: [
    { type: 'array', items: { type: 'string', maxLength: 512 }, maxItems: 1_000 },
    { type: 'string', maxLength: 512 },
  ],
  description,
});

const specs: readonly UiToolSpec[] = [
  {
    name: 'get_current_page',
    description: 'Get what the page of the user shows: its route, title, parameters and filters',
  },
  {
    name: 'navigate_to',
    description:
      'Open a screen of the console, such as /traces/{trace id}, /executions?tool={name}, /tools/{name}, /playbooks. Returns the route that was opened, or the nearest ones if there is none.',
    properties: { url: text('Path and query of the screen; it begins with a single /') },
    required: ['url'],
  },
  {
    name: 'navigate_to_experiment',
    description:
      'Open the experiment screen for a span, to change and repeat its model call. Only spans for which is_valid_for_optimize says valid.',
    properties: {
      spanId: text('The span whose model call is tried again'),
      traceId: text('Its trace; required if the span id occurs in several traces'),
    },
    required: ['spanId'],
  },
  {
    name: 'get_collapsed_spans',
    description: 'Get the ids of the spans that are collapsed in the trace view',
    advice: fromTrace,
  },
  {
    name: 'highlight_spans',
    description: 'Highlight spans in the trace view and scroll to the first, with a note for the user',
    properties: { spanIds: texts('Span ids'), note: text('One sentence on why they matter') },
    required: ['spanIds'],
    advice: fromTrace,
  },
  {
    name: 'apply_label_filter',
    description: 'Filter the list of traces by labels',
    properties: {
      labels: texts('Labels'),
      action: {
        type: 'string',
        enum: ['set', 'add', 'clear'],
        default: 'set',
        description: 'set replaces the labels of the filter, add keeps them, clear removes all',
      },
      view: { type: 'string', enum: ['threads', 'traces'], description: 'The list; default: the one shown' },
    },
    schemaRule: {
      if: { properties: { action: { const: 'clear' } }, required: ['action'] },
      else: { required: ['labels'] },
    },
    advice: fromTraces,
  },
  {
    name: 'get_experiment_data',
    description: 'Get the state of the experiment: its request, the original request, and the last result',
    advice: fromExperiment,
  },
  {
    name: 'apply_experiment_data',
    description:
      'Change the request of the experiment. Given members replace those of the request, others stay; messages are replaced whole.',
    properties: {
      data: {
        type: 'object',
        additionalProperties: true,
        minProperties: 1,
        description: 'Members to change, such as {"model": "gpt-4.1-mini", "temperature": 0}',
      },
    },
    required: ['data'],
    annotations: changing,
    advice: fromExperiment,
  },
  {
    name: 'run_experiment',
    description: 'Run the experiment: asks the model with the changed request and waits up to 60 s',
    annotations: { ...changing, idempotent: false, openWorld: true },
    timeoutMs: runTimeoutMs,
    advice: fromExperiment,
  },
  {
    name: 'evaluate_experiment_results',
    description: 'Compare the result of the experiment with the original: cost, tokens and duration',
    advice: fromExperiment,
  },
];

/** The tools that a page answers. Their failures are no tool faults, because people may close the page at any time. */
export const uiTools = (bridge: UiBridge): Tool[] => specs.map((spec) => uiTool(bridge, spec));

function uiTool(bridge: UiBridge, spec: UiToolSpec): Tool {
  const { name, properties = {}, required = [], schemaRule, advice = 'reload the page', ...rest } = spec;
  const tool = defineTool({
    annotations: readOnly,
    timeoutMs: defaultTimeoutMs,
    ...rest,
    name,
    kind: 'ui',
    tags: ['page'],
    // An error in the text of a page is not a failure of the call.
    semanticErrors: 'off',
    input: { type: 'object', additionalProperties: false, properties, required, ...schemaRule },
    run: (input, run) => bridge.call(name, input, run),
  });
  return {
    ...tool,
    isListed: (lister) => bridge.hasPage(lister),
    admit: (call) => bridge.admit(name, advice, call),
    run: (input, run) => tool.run(input, run).catch(withoutToolFault),
  };
}

/** A page's failure is not the tool's fault, and opens no circuit. */
function withoutToolFault(error: unknown): never {
  if (isDatabaseUnavailable(error)) {
    const message = 'The database, over which pages are reached, does not answer';
    throw new ToolFailure('upstream_unavailable', message);
  }
  if (!(error instanceof ToolFailure)) throw error;
  const { type, message, code, data } = error;
  throw new ToolFailure(type, message, { code, data, isToolFault: false });
}
