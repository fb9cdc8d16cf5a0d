import { Injectable } from '@nestjs/common';
import type { FoundPlaybooks, PlaybookSearch, PlaybookSource } from '../playbook-source.js';
import { DataStorageClient } from './data-storage-client.js';

/** Playbooks of a Data Storage service. */
@Injectable()
export class DataStorageSource implements PlaybookSource {
  readonly kind = 'data_storage';
  /** The service does not say when its catalogue changes: time alone makes its answers old. */
  readonly revision = '';

  constructor(private readonly client: DataStorageClient) {}

  get longestMs(): number {
    return this.client.longestMs;
  }

  search(search: PlaybookSearch, signal: AbortSignal): Promise<FoundPlaybooks> {
    return this.client.searchPlaybooks(search, signal);
  }
}
