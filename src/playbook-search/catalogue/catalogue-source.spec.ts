import { CatalogueSource } from './catalogue-source.js';
import type { PlaybookIndex } from './playbook-index.js';

const nothing = { playbooks: [], total_results: 0 };
const search = { query: 'disk full', similarityThreshold: 0.7, limit: 5, labels: {} };
const sourceOf = (degraded: string | undefined) =>
  new CatalogueSource({
    find: async () => ({ answer: nothing, degraded }),
  } as unknown as PlaybookIndex);

describe('CatalogueSource', () => {
  it('lets an answer stand as long as the revision does', async () => {
    const found = await sourceOf(undefined).search(search, new AbortController().signal);
    expect(found).toEqual({ answer: nothing });
  });

  it('lets no answer stand that was found without the endpoint: it may be back with the next call', async () => {
    const found = await sourceOf('timeout').search(search, new AbortController().signal);
    expect(found).toEqual({ answer: nothing, freshForMs: 0 });
  });
});
