import { Injectable } from '@nestjs/common';
import { abortable } from '../../common/abortable.js';
import type { FoundPlaybooks, PlaybookSearch, PlaybookSource } from '../playbook-source.js';
import { PlaybookIndex } from './playbook-index.js';

/** The built-in catalogue. */
@Injectable()
export class CatalogueSource implements PlaybookSource {
  readonly kind = 'catalogue';
  readonly longestMs = 2_000;

  constructor(private readonly index: PlaybookIndex) {}

  get revision(): string {
    return this.index.revision;
  }

  async search(search: PlaybookSearch, signal: AbortSignal): Promise<FoundPlaybooks> {
    const { answer, degraded } = await abortable(this.index.find(search, signal), signal);
    // The endpoint may be back with the next call.
    return degraded === undefined ? { answer } : { answer, freshForMs: 0 };
  }
}
