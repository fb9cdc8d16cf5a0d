import { Inject, Injectable } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { Refusal } from '../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import type { CallRate } from '../tool-contract/principal.js';
import type { CallRequest } from '../tool-contract/tool-call.js';

/** The calls that are counted together, their maximum, and the message of a refusal. */
interface Limit {
  readonly of: string;
  readonly rate: CallRate;
  readonly toldAs: string;
}

/**
 * Counts the calls of keys that have a rate, and of addresses without a key where CALLS_PER_ADDRESS is set. A second, or
 * a minute, begins with the first call in it. Each server counts for itself: no call waits for another one's count.
 */
@Injectable()
export class CallRates {
  /** They count only: how many calls there may be is the key's, and may change. */
  private readonly counts = { second: countingFor(1), minute: countingFor(60) };

  constructor(@Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>) {}

  /**
   * @returns undefined for a call without a limit
   * @throws Refusal `rate_limited` for one call too many
   */
  count(call: Pick<CallRequest, 'principal' | 'address'>): Promise<void> | undefined {
    const limit = this.limitOf(call);
    return limit && this.take(limit);
  }

  private async take(limit: Limit): Promise<void> {
    const { calls, per } = limit.rate;
    const { consumedPoints, msBeforeNext } = await this.counts[per].consume(limit.of);
    if (consumedPoints <= calls) return;
    throw new Refusal('rate_limited', limit.toldAs, { retryAfterMs: msBeforeNext });
  }

  private limitOf({ principal, address }: Pick<CallRequest, 'principal' | 'address'>): Limit | undefined {
    const { keyId, rate } = principal;
    if (rate && keyId !== undefined) {
      const toldAs = `This key may make ${rate.calls} calls a ${rate.per}; an administrator may change that (PATCH /api/v1/keys/${keyId})`;
      return { of: keyId, rate, toldAs };
    }
    const calls = this.config.auth.callsPerAddress;
    if (keyId !== undefined || address === undefined || calls === 0) return undefined;
    const toldAs = `Without a key ${calls} calls a minute may come from one address (CALLS_PER_ADDRESS)`;
    return { of: networkOf(address), rate: { calls, per: 'minute' }, toldAs };
  }
}

const countingFor = (duration: number): RateLimiterMemory =>
  new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration });

/** An IPv4 address, or the first 64 bits of an IPv6 address: clients choose the others freely. */
export function networkOf(address: string): string {
  const found = ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
  if (found?.kind() !== 'ipv6') return found?.toString() ?? address;
  const { parts } = found as ipaddr.IPv6;
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}
