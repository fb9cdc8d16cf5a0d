/**
 * The ways in which a try can fail: whether another try may do better, and whether the service is at fault, which
 * its circuit counts. An answer that cannot be used will not be another one on the next try.
 */
const kinds = {
  /** No whole answer within the time of a try, or 408. */
  timeout: { again: true, fault: true },
  /** Refused, reset, no such host, no TLS. */
  unreachable: { again: true, fault: true },
  /** 5xx. */
  server_error: { again: true, fault: true },
  /** 429. */
  rate_limited: { again: true, fault: true },
  /** Another 4xx: the service works and does not want our question. */
  rejected: { again: false, fault: false },
  /** 3xx: our token is for this host only. */
  redirected: { again: false, fault: true },
  /** No JSON, or not of the shape that was agreed. */
  invalid_answer: { again: false, fault: true },
  answer_too_large: { again: false, fault: true },
  /** Not tried: the service has failed too often. */
  circuit_open: { again: false, fault: false },
} as const;

export type FailureKind = keyof typeof kinds;

/** The reason why a service gave no answer; the message is for the operator. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  /** Tries that were made for the question. */
  tries = 0;

  constructor(
    readonly kind: FailureKind,
    message: string,
    /** The pause that the service asks for, in milliseconds. */
    readonly retryAfterMs = 0,
    /** The answer's HTTP status, where there was one. */
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
