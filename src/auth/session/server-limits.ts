import type { AppConfig } from '../../config/app-config.js';

/** The caps that callers and authors of tools meet, by the variable that sets each. */
export function serverLimits(config: AppConfig): Readonly<Record<string, number>> {
  const { bundles, customTools, investigations, recorder, spans, toolInput } = config;
  return {
    INVESTIGATION_CALLS_PER_TOOL: investigations.callsPerTool,
    CUSTOM_TOOLS_DEFAULT_TIMEOUT: customTools.defaultTimeoutMs,
    TOOL_INPUT_MAX_BYTES: toolInput.maxBytes,
    CUSTOM_TOOLS_MAX_OUTPUT_BYTES: customTools.maxOutputBytes,
    CUSTOM_TOOLS_MAX_QUEUE: customTools.maxQueue,
    CUSTOM_TOOLS_MAX_PROCESSES: customTools.maxProcesses,
    BUNDLE_MAX_BYTES: bundles.maxBytes,
    METRICS_RETENTION_DAYS: recorder.retentionDays,
    SPANS_RETENTION_DAYS: spans.retentionDays,
  };
}
