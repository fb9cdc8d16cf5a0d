import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type LookupCallback = Parameters<LookupFunction>[2];

/**
 * Looks a host up once for all connections that are made at the same time. While a name server is silent, each look-up
 * holds one of the few threads that files need as well: a service without a name must not stop those.
 */
export function sharedLookup(lookup: LookupFunction = systemLookup): LookupFunction {
  const waiting = new Map<string, LookupCallback[]>();
  return (hostname, options, callback) => {
    const key = `${hostname} ${JSON.stringify(options)}`;
    const others = waiting.get(key);
    if (others) {
      others.push(callback);
      return;
    }
    const all = [callback];
    waiting.set(key, all);
    lookup(hostname, options, (error, address, family) => {
      waiting.delete(key);
      for (const each of all) each(error, address, family);
    });
  };
}
