import { noTracer } from '../../src/base/observability/tracing/tracer.js';
import type { DataSource } from 'typeorm';
import { PlaybookCatalogueService } from '../../src/agents/playbooks/playbook-catalogue.service.js';
import { PlaybookIndex } from '../../src/agents/playbook-search/catalogue/playbook-index.js';
import { PlaybooksRepository } from '../../src/agents/playbooks/playbooks.repository.js';
import { LexicalRanker } from '../../src/agents/playbook-search/ranking/lexical.ranker.js';

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
