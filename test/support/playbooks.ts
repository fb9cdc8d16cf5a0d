import { noTracer } from '../../src/observability/tracing/tracer.js';
import type { DataSource } from 'typeorm';
import { PlaybookCatalogueService } from '../../src/playbooks/playbook-catalogue.service.js';
import { PlaybookIndex } from '../../src/playbook-search/catalogue/playbook-index.js';
import { PlaybooksRepository } from '../../src/playbooks/playbooks.repository.js';
import { LexicalRanker } from '../../src/playbook-search/ranking/lexical.ranker.js';

/** A catalogue on a database, searched in words only: one replica, without the rest of the server. */
export function catalogueOn(dataSource: DataSource): {
  catalogue: PlaybookCatalogueService;
  index: PlaybookIndex;
} {
  const repository = new PlaybooksRepository(dataSource);
  const catalogue = new PlaybookCatalogueService(repository);
  const index = new PlaybookIndex(repository, new LexicalRanker(), noTracer);
  catalogue.changed.subscribe(() => index.invalidate());
  return { catalogue, index };
}
