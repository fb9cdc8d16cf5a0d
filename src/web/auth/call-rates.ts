import { Inject, Injectable } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { Refusal } from '../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Counters } from '../../base/counters/counters.js';
import { type CallRate, sharerOf } from '../contract/principal.js';
import type { CallRequest } from '../contract/tool-call.js';

/** Calls that are counted together, their limit, and the message of a refusal. */
interface Limit {
  /** Id of the key, person, agent or address. */
  readonly sharer: string;
  readonly rate: CallRate;
  readonly message: string;
}

/** Milliseconds of each period. */
const periods = { second: 1_000, minute: 60_000 } as const;

/**
 * Counts calls of keys with a rate, and of addresses without a key if CALLS_PER_ADDRESS is set. A second or minute begins with
 * its first call. Calls without a limit are not counted and do not wait.
 */
@Injectable()
export class CallRates {
  /** Name of the counters, because keys have counters of several kinds. */
  protected readonly counted: string = 'calls';

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly counters: Counters,
  ) {}

  /** Counts a call. @returns undefined for a call without a limit @throws Refusal `rate_limited` for one call too many */
  count(call: Pick<CallRequest, 'principal' | 'address'>): Promise<void> | undefined {
    const limit = this.limitOf(call);
    return limit && this.take(limit);
  }

  /** @throws Refusal `rate_limited` if the limit is reached */
  private async take({ sharer, rate: { calls, per }, message }: Limit): Promise<void> {
    const subject = `${this.counted} ${per} ${sharer}`;
    const counter = { kind: 'rate', project: '', subject, name: '' } as const;
    const { granted, resetsAt } = await this.counters.take({ ...counter, limit: calls, ttlMs: periods[per] });
    if (!granted)
      throw new Refusal('rate_limited', message, { retryAfterMs: Math.max(1, resetsAt - Date.now()) });
  }

  /** The limit of a caller; undefined if it has none. */
  private limitOf({ principal, address }: Pick<CallRequest, 'principal' | 'address'>): Limit | undefined {
    const { keyId, rate, token } = principal;
    if (rate && keyId !== undefined) {
      const { id: sharer, who } = sharerOf(principal, rate.by);
      const where = token ? 'PUT /api/v1/access-rules' : `PATCH /api/v1/keys/${keyId}`;
      const message = `${capitalised(who)} may make ${rate.calls} calls a ${rate.per}; an administrator may change that (${where})`;
      return { sharer, rate, message };
    }
    const calls = this.config.auth.callsPerAddress;
    if (keyId !== undefined || address === undefined || calls === 0) return undefined;
    const message = `Without a key ${calls} calls a minute may come from one address (CALLS_PER_ADDRESS)`;
    return { sharer: networkOf(address), rate: { calls, per: 'minute' }, message };
  }
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The id of a caller for limits per caller: its key, or its address without one. */
export const holderOf = ({ principal, address = '' }: Pick<CallRequest, 'principal' | 'address'>): string =>
  principal.keyId ?? networkOf(address);

/** An IPv4 address, or the first 64 bits of an IPv6 address: clients choose the others freely. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const found = ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
  if (found?.kind() !== 'ipv6') return found?.toString() ?? address;
  // Each part has 16 bits.
  const parts = (found as ipaddr.IPv6).parts.slice(0, 4);
  return parts.map((part) => part.toString(16)).join(':');
}
