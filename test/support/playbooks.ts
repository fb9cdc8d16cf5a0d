import { noTracer } from '../../src/observability/tracing/tracer.js';
import type { DataSource } from 'typeorm';
import { PlaybookCatalogueService } from '../../src/playbook-search/catalogue/playbook-catalogue.service.js';
import { PlaybookChangesRepository } from '../../src/playbook-search/catalogue/playbook-changes.repository.js';
import { PlaybookIndex } from '../../src/playbook-search/catalogue/playbook-index.js';
import { PlaybookOutcomesRepository } from '../../src/playbook-search/catalogue/playbook-outcomes.repository.js';
import { PlaybooksRepository } from '../../src/playbook-search/catalogue/playbooks.repository.js';
import { LexicalRanker } from '../../src/playbook-search/ranking/lexical.ranker.js';

/** A catalogue on a database, searched in words only: one replica, without the rest of the server. */
export function catalogueOn(
  dataSource: DataSource,
  index = new PlaybookIndex(new PlaybooksRepository(dataSource), new LexicalRanker(), noTracer),
): PlaybookCatalogueService {
  return new PlaybookCatalogueService(
    new PlaybooksRepository(dataSource),
    new PlaybookChangesRepository(dataSource),
    new PlaybookOutcomesRepository(dataSource),
    index,
  );
}
