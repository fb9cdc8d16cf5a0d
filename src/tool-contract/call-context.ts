/**
 * The caller of a call, and its investigation, run and labels; REST takes it from body and headers, MCP from `_meta`.
 */
export interface CallContext {
  readonly userId: string;
  readonly requestId: string;
  readonly projectId: string;
  readonly sessionId?: string;
  readonly investigationId?: string;
  readonly runId?: string;
  readonly threadId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly traceparent?: string;
}
