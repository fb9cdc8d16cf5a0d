import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import type { PlaybookCatalogueService } from '../../src/agents/playbooks/playbook-catalogue.service.js';
import type { CreatePlaybookBody } from '../../src/agents/playbooks/playbook-bodies.dto.js';
import type { PlaybookLabels } from '../../src/agents/playbooks/playbook.types.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { PlaybookIndex } from '../../src/agents/playbook-search/catalogue/playbook-index.js';
import { catalogueOn } from '../support/playbooks.js';

Logger.overrideLogger(false);

/**
 * What must never reach an LLM: a playbook for another environment, one that a cost-constrained namespace may not use,
 * one that is disabled, deprecated, archived or superseded. Catalogues, situations and queries are drawn at random.
 */

const keys = ['environment', 'cost-tier', 'memory-scaling', 'priority', 'Team'] as const;
const values: Record<(typeof keys)[number], readonly string[]> = {
  environment: ['production', 'staging', 'Test', '*'],
  'cost-tier': ['budget', 'standard', 'PREMIUM', '*'],
  'memory-scaling': ['enabled', 'disabled', '*'],
  priority: ['P0', 'p1', 'P2', '*'],
  Team: ['a', 'b', '*'],
};
const words = ['memory', 'leak', 'OOMKilled', 'restart', 'queue', 'certificate', 'disk', 'latency'];

const valueOf = (key: (typeof keys)[number]) => fc.constantFrom(...values[key]);
/** Keys as people write them: with kubernaut's prefix or without, in any case. */
const spelled = (key: string) => fc.constantFrom(key, key.toUpperCase(), `kubernaut.io/${key}`);
const record = <T>(
  valueFor: (key: (typeof keys)[number]) => fc.Arbitrary<T>,
): fc.Arbitrary<Record<string, T>> =>
  fc
    .tuple(
      ...keys.map((key) => fc.option(fc.tuple(spelled(key), valueFor(key)), { nil: undefined, freq: 2 })),
    )
    .map((entries) => Object.fromEntries(entries.filter((entry) => entry !== undefined)));

const labels: fc.Arbitrary<PlaybookLabels> = record((key) =>
  fc.oneof(valueOf(key), fc.array(valueOf(key), { minLength: 1, maxLength: 3 })),
);
const situation = record((key) => valueOf(key));
const sentence = fc
  .array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 })
  .map((each) => each.join(' '));
const fate = fc.constantFrom(
  'active',
  'active',
  'active',
  'disabled',
  'deprecated',
  'archived',
  'enabled again',
);
const version = fc.record({ labels, text: sentence, fate });
const catalogueOf = fc.array(fc.array(version, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 12,
});
const searches = fc.array(fc.record({ query: sentence, labels: situation }), { minLength: 8, maxLength: 8 });

let db: TestDatabase;
let catalogue: PlaybookCatalogueService;
let index: PlaybookIndex;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.release());
beforeEach(() => {
  ({ catalogue, index } = catalogueOn(db.dataSource));
});

type Version = typeof version extends fc.Arbitrary<infer V> ? V : never;

const bare = (key: string): string => key.toLowerCase().replace('kubernaut.io/', '');

/** Written anew, not taken from the product: may this version be shown to who is in this situation? */
function isMeantFor(own: PlaybookLabels, asked: Record<string, string>): boolean {
  for (const [askedKey, askedValue] of Object.entries(asked)) {
    if (askedValue === '*') continue;
    const key = Object.keys(own).find((each) => bare(each) === bare(askedKey));
    if (key === undefined) continue;
    const allowed = [own[key] ?? []].flat().map((each) => each.toLowerCase());
    if (!allowed.includes('*') && !allowed.includes(askedValue.toLowerCase())) return false;
  }
  return true;
}

const playbookOf = (each: Version, id: number, at: number): CreatePlaybookBody => ({
  playbook_id: `p${id}`,
  version: `1.${at}.0`,
  name: each.text,
  description: each.text,
  content: {},
  labels: each.labels,
  signals: each.text.split(' '),
});

async function meetFate(id: string, name: string, each: Version): Promise<void> {
  const change = (transition: 'disable' | 'enable' | 'deprecate' | 'archive') =>
    catalogue.setStatus({ id, version: name }, { transition, by: 'd', reason: 'r' });
  if (each.fate === 'disabled' || each.fate === 'enabled again') await change('disable');
  if (each.fate === 'enabled again') await change('enable');
  if (each.fate === 'deprecated') await change('deprecate');
  if (each.fate === 'archived') await change('archive');
}

async function store(drawn: readonly (readonly Version[])[]): Promise<void> {
  await db.dataSource.query('TRUNCATE playbook_catalog CASCADE');
  const items = drawn.flatMap((versions, id) =>
    versions.map((each, at) => ({ playbook: playbookOf(each, id, at), pointer: '' })),
  );
  await catalogue.import(items);
  for (const [id, versions] of drawn.entries())
    for (const [at, each] of versions.entries()) await meetFate(`p${id}`, `1.${at}.0`, each);
}

describe('selection safety', () => {
  it('shows every active latest version that is meant for the situation, and never another one', async () => {
    let shown = 0;
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(catalogueOf, searches, async (drawn, asked) => {
        await store(drawn);
        for (const { query, labels: situationLabels } of asked) {
          const search = { query, labels: situationLabels, similarityThreshold: 0, limit: 100 };
          const { playbooks } = (await index.find(search)).answer;
          const ids = new Set(playbooks.map(({ playbook_id }) => playbook_id));
          for (const [id, versions] of drawn.entries()) {
            const latest = versions.at(-1);
            if (!latest) continue;
            const hit = playbooks.find(({ playbook_id }) => playbook_id === `p${id}`);
            const may =
              ['active', 'enabled again'].includes(latest.fate) && isMeantFor(latest.labels, situationLabels);
            if (hit) {
              expect([`p${id}`, may, hit.version]).toEqual([`p${id}`, true, `1.${versions.length - 1}.0`]);
              shown += 1;
            } else if (may) {
              // Then only for want of a common word: the filter must not take away what it should let through.
              expect(latest.text.split(' ').some((word) => query.split(' ').includes(word))).toBe(false);
            } else kept += 1;
          }
          expect(ids.size).toBe(playbooks.length);
        }
      }),
      { numRuns: 25, seed: 20_779 },
    );
    // Both sides of the property were met, or it would prove nothing.
    expect(shown).toBeGreaterThan(100);
    expect(kept).toBeGreaterThan(100);
  });
});
