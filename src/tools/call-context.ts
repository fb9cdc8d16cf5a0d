import type { CallContext } from '../tool-contract/call-context.js';

/** The members of `context` in a body; each may come as a header instead. */
export interface ContextBody {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly requestId?: string;
  readonly investigationId?: string;
  readonly runId?: string;
  readonly threadId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Builds a call's context: the body wins over the headers, and the key's owner stands in for an absent user. */
export function callContext(
  body: ContextBody,
  headers: Headers,
  request: { readonly id: string; readonly userId: string },
): CallContext {
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' && value !== '' ? value.slice(0, maxHeaderLength) : undefined;
  };
  return {
    userId: body.userId ?? header('x-user-id') ?? request.userId,
    requestId: body.requestId ?? request.id,
    projectId: header('x-project-id') ?? 'default',
    sessionId: body.sessionId ?? header('x-session-id'),
    investigationId: body.investigationId ?? header('x-investigation-id'),
    runId: body.runId ?? header('x-run-id'),
    threadId: body.threadId ?? header('x-thread-id'),
    labels: body.labels,
    traceparent: header('traceparent'),
  };
}

/** As the body's fields. */
export const maxHeaderLength = 256;
