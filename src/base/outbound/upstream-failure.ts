/**
 * Kinds of failures. `again`: whether a retry may succeed. `fault`: whether the service is at fault, which its circuit
 * counts. An invalid answer is not retried, because it would be the same.
 */
const kinds = {
  /** No complete answer within the timeout of a try, or 408. */
  timeout: { again: true, fault: true },
  /** Connection refused or reset, unknown host, TLS error. */
  unreachable: { again: true, fault: true },
  /** 5xx. */
  server_error: { again: true, fault: true },
  /** 429. */
  rate_limited: { again: true, fault: true },
  /** Another 4xx: the service works but refuses the request. */
  rejected: { again: false, fault: false },
  /** 3xx: the token must not be sent to another host. */
  redirected: { again: false, fault: true },
  /** No JSON, or JSON of an unexpected form. */
  invalid_answer: { again: false, fault: true },
  answer_too_large: { again: false, fault: true },
  /** Not tried: the service has failed too often. */
  circuit_open: { again: false, fault: false },
} as const;

export type FailureKind = keyof typeof kinds;

/** The reason why a service gave no answer; the message is for the operator. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  /** Number of tries. */
  tries = 0;

  constructor(
    readonly kind: FailureKind,
    message: string,
    /** The pause that the service asks for, in milliseconds. */
    readonly retryAfterMs = 0,
    /** HTTP status of the answer, if there was one. */
    readonly status?: number,
  ) {
    super(message);
  }

  get mayTryAgain(): boolean {
    return kinds[this.kind].again;
  }

  get isFault(): boolean {
    return kinds[this.kind].fault;
  }
}
