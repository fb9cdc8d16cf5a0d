import { Injectable } from '@nestjs/common';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
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

  async search({ query, similarityThreshold, limit, labels }: PlaybookSearch): Promise<FoundPlaybooks> {
    return {
      answer: await this.catalogue.search({ query, labels, minConfidence: similarityThreshold, limit }),
    };
  }
}
