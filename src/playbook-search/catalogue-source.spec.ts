import { CatalogueSource } from './catalogue-source.js';
import type { PlaybookCatalogueService } from './catalogue/playbook-catalogue.service.js';

const nothing = { playbooks: [], total_results: 0 };
const search = { query: 'disk full', similarityThreshold: 0.7, limit: 5, labels: {} };
const sourceOf = (degraded: string | undefined) =>
  new CatalogueSource({
    find: async () => ({ answer: nothing, degraded }),
  } as unknown as PlaybookCatalogueService);

describe('CatalogueSource', () => {
  it('lets an answer stand as long as the revision does', async () => {
    const found = await sourceOf(undefined).search(search, new AbortController().signal);
    expect(found).toEqual({ answer: nothing });
  });

  it('lets no answer stand that was found without the model: it may be back with the next call', async () => {
    const found = await sourceOf('timed_out').search(search, new AbortController().signal);
    expect(found).toEqual({ answer: nothing, freshForMs: 0 });
  });
});
