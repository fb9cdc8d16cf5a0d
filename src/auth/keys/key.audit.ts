import { Injectable } from '@nestjs/common';
import type { AuditedResource, PathParams } from '../audit/audited.decorator.js';
import { KeysRepository } from './keys.repository.js';

/** An API key as the audit hashes it: all but its own hash, and when it was used. */
@Injectable()
export class KeyAudit implements AuditedResource {
  constructor(private readonly repository: KeysRepository) {}

  made({ id }: { readonly id: string }): PathParams {
    return { id };
  }

  async stateOf({ id = '' }: PathParams): Promise<unknown> {
    const key = await this.repository.find(id);
    if (!key) return undefined;
    const { hash: _secret, lastUsedAt: _changesByUse, ...state } = key;
    return state;
  }
}
