export type Json = Readonly<Record<string, unknown>>;

interface OfCall {
  /** Id of the call, which is the id of its execution. */
  readonly callId: string;
}
type Reply = OfCall & { readonly success: boolean; readonly error?: string };

/** Events about calls of this page, dispatched on `window`: a request before its handler runs, a response after it. */
export interface UiEvents {
  vllora_get_collapsed_spans: OfCall;
  vllora_collapsed_spans_response: OfCall & Json;
  vllora_get_experiment_data: OfCall;
  vllora_experiment_data_response: OfCall & Json;
  vllora_evaluate_experiment_results: OfCall;
  vllora_evaluate_experiment_results_response: OfCall & Json;
  vllora_navigate_to: OfCall & { readonly url: string };
  vllora_navigate_to_experiment: OfCall & { readonly spanId: string; readonly url: string };
  vllora_apply_experiment_data: OfCall & { readonly data: Json };
  vllora_apply_experiment_data_response: Reply;
  vllora_run_experiment: OfCall;
  vllora_run_experiment_response: Reply & { readonly result?: unknown };
  vllora_apply_label_filter: OfCall & {
    readonly labels: readonly string[];
    readonly action: string;
    readonly view?: string;
  };
}
type Name = keyof UiEvents;

/** The events of each tool: of its call, and of its answer. */
export const eventsOf: Readonly<Record<string, readonly [request: Name, response?: Name]>> = {
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

export const emitUiEvent = (name: Name, detail: OfCall & Json): unknown =>
  window.dispatchEvent(new CustomEvent(name, { detail }));
