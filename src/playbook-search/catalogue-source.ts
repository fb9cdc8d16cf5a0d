import { Injectable } from '@nestjs/common';
import { abortable } from '../common/abortable.js';
import { PlaybookCatalogueService } from './catalogue/playbook-catalogue.service.js';
import type { FoundPlaybooks, PlaybookSearch, PlaybookSource } from './playbook-source.js';

/** The built-in catalogue. */
@Injectable()
export class CatalogueSource implements PlaybookSource {
  readonly kind = 'catalogue';
  readonly longestMs = 2_000;

  constructor(private readonly catalogue: PlaybookCatalogueService) {}

  get revision(): string {
    return this.catalogue.revision;
  }

  async search(
    { query, similarityThreshold: minConfidence, limit, labels }: PlaybookSearch,
    signal: AbortSignal,
  ): Promise<FoundPlaybooks> {
    const found = this.catalogue.find({ query, labels, minConfidence, limit }, signal);
    const { answer, degraded } = await abortable(found, signal);
    // The model may be back with the next call.
    return degraded === undefined ? { answer } : { answer, freshForMs: 0 };
  }
}
