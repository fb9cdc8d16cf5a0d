/** Spans around a model call, or of something else, whatever their kind says. */
const notTheCall = new Set(['cloud_api_invoke', 'model_call', 'tool_call', 'tools', 'run', 'agent']);

/** Whether a span's request may be tried again with changes: it is the call of a model itself. */
export const isOptimizable = (span: { readonly kind: string; readonly operation_name: string }): boolean =>
  span.kind === 'llm' &&
  span.operation_name !== '' &&
  !notTheCall.has(span.operation_name) &&
  !span.operation_name.startsWith('guard_');
