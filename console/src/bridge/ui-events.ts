export type Json = Readonly<Record<string, unknown>>;

/** Events of each tool, dispatched on `window`: one before its handler runs, one with its answer. */
export const eventsOf: Readonly<Record<string, readonly [request: string, response?: string]>> = {
  get_collapsed_spans: ['vllora_get_collapsed_spans', 'vllora_collapsed_spans_response'],
  get_experiment_data: ['vllora_get_experiment_data', 'vllora_experiment_data_response'],
  evaluate_experiment_results: [
    'vllora_evaluate_experiment_results',
    'vllora_evaluate_experiment_results_response',
  ],
  navigate_to: ['vllora_navigate_to'],
  navigate_to_experiment: ['vllora_navigate_to_experiment'],
  apply_experiment_data: ['vllora_apply_experiment_data', 'vllora_apply_experiment_data_response'],
  run_experiment: ['vllora_run_experiment', 'vllora_run_experiment_response'],
  apply_label_filter: ['vllora_apply_label_filter'],
};

/** Members that the event of a page tool has beside the tool's input, as listeners expect them. */
export const detailOf: Readonly<Record<string, (input: Json) => Json>> = {
  navigate_to_experiment: (input) => ({ url: experimentUrl(input) }),
  apply_label_filter: ({ labels = [], action = 'set' }) => ({ labels: [labels].flat(), action }),
};

/** The screen where an experiment starts from a span. */
export function experimentUrl(input: Json): string {
  const { spanId: span, traceId: trace } = input as { spanId: string; traceId?: string };
  const search = new URLSearchParams({ span, ...(trace !== undefined && { trace }) });
  return `/experiments/new?${search}`;
}

/** @param detail has the id of the call, which is the id of its execution */
export const emitUiEvent = (name: string, detail: Json & { readonly callId: string }): unknown =>
  window.dispatchEvent(new CustomEvent(name, { detail }));
