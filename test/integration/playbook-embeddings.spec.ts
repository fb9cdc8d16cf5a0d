import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import {
  type EmbeddingProvider,
  EmbeddingUnavailable,
} from '../../src/playbook-search/embedding-provider.js';
import { EmbeddingGeneration } from '../../src/playbook-search/embeddings/embedding-generation.js';
import { EmbeddingsRepository } from '../../src/playbook-search/embeddings/embeddings.repository.js';
import { GenerationKeeper } from '../../src/playbook-search/embeddings/generation-keeper.js';
import { MemoryStore } from '../../src/playbook-search/embeddings/memory.store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

/** Shared words make vectors near; counts what it embeds, and fails or waits when it is told to. */
class WordsProvider implements EmbeddingProvider {
  readonly semantic = false;
  readonly dimensions = 64;
  readonly calibration = { floor: 0, cut: 0.5 };
  readonly embedded: string[] = [];
  closed = false;
  /** Asked before each slice of texts. */
  before: () => Promise<void> = () => Promise.resolve();

  constructor(readonly id: string) {}

  async embed(texts: readonly string[]): Promise<Float32Array[]> {
    await this.before();
    this.embedded.push(...texts);
    return texts.map((text) => this.vectorOf(text));
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  private vectorOf(text: string): Float32Array {
    const vector = new Float32Array(this.dimensions);
    for (const word of text.toLowerCase().split(/\W+/))
      vector[(createHash('sha256').update(word).digest()[0] ?? 0) % 64] = 1;
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  }
}

/** real: PostgreSQL, the tables, the index; ours: what turns texts into vectors. */
describe('vectors of the catalogue', () => {
  let db: TestDatabase;
  let repository: EmbeddingsRepository;
  let keepers: GenerationKeeper[];
  const signal = new AbortController().signal;

  beforeEach(async () => {
    db = await createTestDatabase();
    repository = new EmbeddingsRepository(db.dataSource);
    keepers = [];
  });
  afterEach(async () => {
    for (const keeper of keepers) await keeper.close();
    await db.drop();
  });

  const generation = (provider: EmbeddingProvider): EmbeddingGeneration =>
    new EmbeddingGeneration(
      provider,
      new MemoryStore({
        product: resolve('native/bin/product.wasm'),
        threadAboveBytes: Infinity,
      }),
      repository,
    );

  const keeperOf = (provider: WordsProvider, former?: WordsProvider): GenerationKeeper => {
    const keeper = new GenerationKeeper(
      {
        open: async () => generation(provider),
        openFormer: async (id) => (former?.id === id ? generation(former) : undefined),
      },
      repository,
    );
    keepers.push(keeper);
    return keeper;
  };

  const add = async (id: string, version: string, name: string): Promise<void> => {
    await db.dataSource.query(
      'UPDATE playbook_catalog SET is_latest_version = false WHERE playbook_id = $1',
      [id],
    );
    await db.dataSource.query(
      `INSERT INTO playbook_catalog (playbook_id, version, name, description, content, content_hash, is_latest_version)
       VALUES ($1, $2, $3, 'what helps', '{}', repeat('0', 64), true)`,
      [id, version, name],
    );
  };
  const disable = (id: string): Promise<unknown> =>
    db.dataSource.query(
      `UPDATE playbook_catalog SET status = 'disabled', disabled_at = now() WHERE playbook_id = $1`,
      [id],
    );
  const keysFound = async (keeper: GenerationKeeper, asked: string[]): Promise<string[]> => {
    const [vector] = (await keeper.current?.provider.embed(['anything'], 'query')) ?? [];
    if (!vector || !keeper.current) return [];
    return [...(await keeper.current.store.scores(vector, asked)).keys()].sort();
  };

  it('are made once: who comes later, another replica or this one after a restart, takes them up', async () => {
    await add('dns', '1.0.0', 'names are not resolved');
    await add('oom', '1.0.0', 'memory ran out');
    const first = new WordsProvider('words');
    const keeper = keeperOf(first);
    expect(keeper.degraded).toBe('indexing');
    await keeper.sync(signal);
    expect(first.embedded).toEqual(['names are not resolved', 'memory ran out']);
    expect(keeper.degraded).toBeUndefined();

    const second = new WordsProvider('words');
    const later = keeperOf(second);
    await later.sync(signal);
    expect(second.embedded).toEqual([]);
    expect(await keysFound(later, ['dns@1.0.0', 'oom@1.0.0'])).toEqual(['dns@1.0.0', 'oom@1.0.0']);
  });

  it('follow the catalogue, whoever changes it, and nothing is embedded twice', async () => {
    await add('dns', '1.0.0', 'names are not resolved');
    await add('oom', '1.0.0', 'memory ran out');
    const provider = new WordsProvider('words');
    const keeper = keeperOf(provider);
    await keeper.sync(signal);
    const { revision } = keeper;
    await keeper.sync(signal);
    expect(keeper.revision).toBe(revision);

    await add('dns', '1.1.0', 'nothing is resolved');
    await disable('oom');
    await keeper.sync(signal);
    expect(keeper.revision).not.toBe(revision);
    expect(provider.embedded.slice(2)).toEqual(['nothing is resolved']);
    expect(await keysFound(keeper, ['dns@1.0.0', 'dns@1.1.0', 'oom@1.0.0'])).toEqual(['dns@1.1.0']);
  });

  it('of the provider before serve until a new provider has made all of its own', async () => {
    await add('dns', '1.0.0', 'names are not resolved');
    await keeperOf(new WordsProvider('words:old')).sync(signal);

    const former = new WordsProvider('words:old');
    const present = new WordsProvider('words:new');
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    present.before = () => {
      reached.resolve();
      return gate.promise;
    };
    const keeper = keeperOf(present, former);
    const syncing = keeper.sync(signal);
    await reached.promise;
    expect(keeper.current?.provider).toBe(former);
    expect(await keysFound(keeper, ['dns@1.0.0'])).toEqual(['dns@1.0.0']);
    const before = keeper.revision;

    gate.resolve();
    await syncing;
    expect(keeper.current?.provider).toBe(present);
    expect(keeper.revision).not.toBe(before);
    expect([former.closed, present.closed]).toEqual([true, false]);
    expect(await keysFound(keeper, ['dns@1.0.0'])).toEqual(['dns@1.0.0']);
  });

  it('that were made before a failure stay made', async () => {
    for (let at = 0; at < 40; at++) await add(`p${at}`, '1.0.0', `incident ${at}`);
    const provider = new WordsProvider('words');
    let slices = 0;
    provider.before = async () => {
      if (++slices === 2) throw new EmbeddingUnavailable('endpoint_failed', 'not now');
    };
    const keeper = keeperOf(provider);
    await expect(keeper.sync(signal)).rejects.toThrow('not now');
    expect([keeper.degraded, keeper.current, provider.embedded.length]).toEqual([
      'endpoint_failed',
      undefined,
      8,
    ]);
    await keeper.sync(signal);
    expect([keeper.degraded, provider.embedded.length, keeper.current?.store.size]).toEqual([
      undefined,
      40,
      40,
    ]);
  });

  it('serve on without the database, and follow again when it is back', async () => {
    await add('dns', '1.0.0', 'names are not resolved');
    const keeper = keeperOf(new WordsProvider('words'));
    await keeper.sync(signal);
    await db.dataSource.destroy();
    await expect(keeper.sync(signal)).rejects.toThrow();
    expect(keeper.degraded).toBe('database');
    expect(await keysFound(keeper, ['dns@1.0.0'])).toEqual(['dns@1.0.0']);
    await db.dataSource.initialize();
    await add('oom', '1.0.0', 'memory ran out');
    await keeper.sync(signal);
    expect(keeper.current?.store.size).toBe(2);
  });

  it('are none for an empty catalogue, and no model is asked', async () => {
    const provider = new WordsProvider('words');
    const keeper = keeperOf(provider);
    await keeper.sync(signal);
    expect([keeper.degraded, provider.embedded]).toEqual([undefined, []]);
  });

  it('stand in the database by provider, playbook and text', async () => {
    await add('dns', '1.0.0', 'names are not resolved');
    await keeperOf(new WordsProvider('a')).sync(signal);
    await keeperOf(new WordsProvider('b')).sync(signal);
    expect(
      await db.dataSource.query(
        `SELECT provider_id, playbook_id, version, length(vector) AS bytes FROM playbook_embeddings ORDER BY provider_id`,
      ),
    ).toEqual([
      { provider_id: 'a', playbook_id: 'dns', version: '1.0.0', bytes: 256 },
      { provider_id: 'b', playbook_id: 'dns', version: '1.0.0', bytes: 256 },
    ]);
    await db.dataSource.query('DELETE FROM playbook_catalog');
    expect(await db.dataSource.query('SELECT FROM playbook_embeddings')).toEqual([]);
  });
});
