import type { FailureKind } from '../../../src/base/outbound/upstream-failure.js';
import type { DataStorageMode } from '../../support/data-storage.js';

/** A way in which the service, or the way to it, fails. */
export interface Fault {
  readonly name: string;
  /** Where the client is sent: to the service, to a port where nobody listens, or to a name that nobody has. */
  readonly place: 'service' | 'closed_port' | 'no_such_host';
  /** How the service answers the question. */
  readonly mode?: DataStorageMode;
  readonly retryAfter?: string;
  /** What the client must make of it. */
  readonly kind: FailureKind;
  /** … or of it where the machine's name server takes its time to say no. */
  readonly orKind?: FailureKind;
  /** Tries that are worth while: no question may have more, and one with time enough has all. */
  readonly tries: 1 | 4;
}

const again = { tries: 4 } as const;
const once = { tries: 1 } as const;

export const faults: readonly Fault[] = [
  { name: 'refused', place: 'closed_port', kind: 'unreachable', ...again },
  { name: 'no_such_host', place: 'no_such_host', kind: 'unreachable', orKind: 'timeout', ...again },
  { name: 'reset', place: 'service', mode: 'reset', kind: 'unreachable', ...again },
  { name: 'black_hole', place: 'service', mode: 'black_hole', kind: 'timeout', ...again },
  { name: 'dripping_body', place: 'service', mode: 'drip', kind: 'timeout', ...again },
  { name: 'slow', place: 'service', mode: 'slow', kind: 'timeout', ...again },
  { name: 'status_500', place: 'service', mode: 'server_error', kind: 'server_error', ...again },
  { name: 'status_503', place: 'service', mode: 'unavailable', kind: 'server_error', ...again },
  { name: 'status_429', place: 'service', mode: 'rate_limited', kind: 'rate_limited', ...again },
  {
    name: 'status_429_retry_after',
    place: 'service',
    mode: 'rate_limited',
    // More than there is: waiting would be in vain.
    retryAfter: '30',
    kind: 'rate_limited',
    ...once,
  },
  { name: 'status_400', place: 'service', mode: 'rejected', kind: 'rejected', ...once },
  { name: 'redirect', place: 'service', mode: 'redirect', kind: 'redirected', ...once },
  { name: 'invalid_json', place: 'service', mode: 'invalid_json', kind: 'invalid_answer', ...once },
  { name: 'wrong_schema', place: 'service', mode: 'wrong_schema', kind: 'invalid_answer', ...once },
  { name: 'body_of_100_mb', place: 'service', mode: 'huge', kind: 'answer_too_large', ...once },
];
