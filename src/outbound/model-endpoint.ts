import { CircuitBreaker } from '../circuits/breaker/circuit-breaker.js';
import { systemClock } from '../common/clock.js';

/** A model behind an OpenAI-compatible endpoint. */
export interface ModelAddress {
  /** Up to the service's own path, such as `/embeddings`, which is added unless the URL ends so. */
  readonly url: string;
  readonly model: string;
  readonly apiKey: string | undefined;
}

/** The URL of one service of an endpoint. */
export function endpointUrl({ url: base }: ModelAddress, service: `/${string}`): URL {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith(service) ? path : `${path}${service}`;
  return url;
}

export const keyHeader = ({ apiKey }: ModelAddress): Readonly<Record<string, string>> =>
  apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };

/** An endpoint that fails half of its tries is left alone; then one request probes it. */
export const endpointBreaker = (): CircuitBreaker =>
  new CircuitBreaker(
    {
      failures: 1,
      minCalls: 5,
      minFailureRate: 0.5,
      windowMs: 300_000,
      openMs: 30_000,
      maxOpenMs: 30_000,
      probes: 1,
      faultsAre: 'failures',
    },
    systemClock,
    Math.random,
  );
