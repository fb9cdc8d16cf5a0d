import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { AdminKey } from './admin-key.js';
import { hashOfKey } from './api-key.js';

/**
 * The secrets of links that sign one browser in as the operator, once and soon. They are kept as hashes, by this server
 * alone.
 */
@Injectable()
export class OnceLinks {
  private readonly endings = new Map<string, number>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auth'>,
    private readonly adminKey: AdminKey,
  ) {}

  /** @returns undefined unless this server, on loopback, made its own key: whoever reads its output may read the key too */
  make(now = Date.now()): string | undefined {
    if (this.adminKey.file === undefined) return undefined;
    const once = randomBytes(32).toString('base64url');
    this.endings.set(keptOf(once), now + this.config.auth.onceLinkMs);
    return once;
  }

  /** Whether it may sign in: the first time, before its end. */
  take(once: string, now = Date.now()): boolean {
    const kept = keptOf(once);
    const ending = this.endings.get(kept) ?? 0;
    this.endings.delete(kept);
    return ending > now;
  }
}

const keptOf = (once: string): string => hashOfKey(once).toString('base64url');
