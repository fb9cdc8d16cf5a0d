import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/app-config.js';
import type { EmbeddingProvider } from '../../src/playbook-search/embedding-provider.js';
import { openProvider } from '../../src/playbook-search/embeddings/open-provider.js';
import { PlaybookEmbeddings } from '../../src/playbook-search/embeddings/playbook-embeddings.js';
import { startApp, type TestApp } from '../support/app.js';
import { built } from '../support/built.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

const tinyModel = join(__dirname, '..', 'fixtures', 'models', 'tiny');
const none = (): void => undefined;
/** What /readyz says of its parts when the database has answered in time. */
const readyParts = (app: TestApp): Promise<object> =>
  until(
    async () => {
      const { status, body } = await app.http.get('/readyz');
      return status === 200 ? (body as { details: object }).details : undefined;
    },
    { what: 'readiness' },
  );
const cosine = (a: Float32Array | undefined, b: Float32Array | undefined): number =>
  a?.reduce((sum, value, at) => sum + value * (b?.[at] ?? 0), 0) ?? NaN;

/** A model needs seconds on a busy machine. */
const patience = 60_000;

const some = ['cluster-dns-repair.yaml', 'oomkill-increase-memory.yaml', 'tls-certificate-renew.yaml'];

/** real: the server, HTTP, PostgreSQL, the model that ships in its thread. */
describe('a server with the bundled model', () => {
  let app: TestApp;
  const folder = makeTestFolder();
  beforeAll(async () => {
    built();
    const playbooks = join(folder, 'playbooks');
    mkdirSync(playbooks);
    for (const name of some) copyFileSync(join('playbooks', name), join(playbooks, name));
    app = await startApp({
      EMBEDDINGS_PROVIDER: 'bundled',
      PLAYBOOKS_DIR: playbooks,
      EMBEDDINGS_SYNC_INTERVAL_MS: '100',
      EMBEDDINGS_QUERY_TIMEOUT_MS: '30000',
    });
  }, patience);
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    'embeds the catalogue after its start and finds by meaning',
    async () => {
      const embeddings = app.app.get(PlaybookEmbeddings);
      const state = await until(
        () => {
          const seen = embeddings.state();
          return seen.degraded === undefined && seen.vectors > 0 ? seen : undefined;
        },
        { what: 'vectors of the catalogue', timeoutMs: 45_000 },
      );
      expect(state).toMatchObject({ provider: 'bundled:use-lite-0.2.0', degraded: undefined });

      const rows: { key: string }[] = await app.db.dataSource.query(
        `SELECT playbook_id || '@' || version AS key FROM playbook_catalog WHERE is_latest_version`,
      );
      const keys = rows.map(({ key }) => key);
      expect(state.vectors).toBe(keys.length);
      const { cosines, calibration } = await embeddings.scores('our hostnames cannot be looked up', keys);
      expect(calibration.floor).toBeLessThan(calibration.cut);
      const nearest = [...cosines].sort((a, b) => b[1] - a[1]).map(([key]) => key);
      expect(nearest[0]).toContain('dns');

      expect(await readyParts(app)).toMatchObject({
        embeddings: { status: 'up', provider: 'bundled:use-lite-0.2.0', vectors: keys.length },
      });
      const { text } = await app.http.get('/metrics').expect(200);
      expect(text).toContain(`toolkeeper_playbook_vectors ${keys.length}`);
      expect(text).toContain('toolkeeper_playbook_embeddings_up 1');
      expect(text).toMatch(/toolkeeper_embedding_duration_seconds_count [1-9]/);
    },
    patience,
  );
});

describe('a server whose embeddings endpoint hangs', () => {
  let app: TestApp;
  let endpoint: Server;
  beforeAll(async () => {
    endpoint = createServer(() => undefined);
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
    app = await startApp({
      EMBEDDINGS_PROVIDER: 'openai',
      EMBEDDINGS_URL: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`,
      EMBEDDINGS_MODEL: 'any',
      EMBEDDINGS_TIMEOUT_MS: '50',
      EMBEDDINGS_SYNC_INTERVAL_MS: '100',
      PLAYBOOKS_DIR: shippedPlaybooks,
    });
  }, patience);
  afterAll(async () => {
    await app.close();
    endpoint.closeAllConnections();
    endpoint.close();
  });

  it(
    'is ready, says so, and finds by words',
    async () => {
      const embeddings = app.app.get(PlaybookEmbeddings);
      await until(() => ['timed_out', 'circuit_open'].includes(embeddings.state().degraded ?? ''), {
        what: 'the endpoint to be given up',
      });
      expect(await readyParts(app)).toMatchObject({ embeddings: { status: 'degraded' } });
      const search = await app.http.get('/api/v1/playbooks/search').query({ query: 'OOMKilled' }).expect(200);
      expect((search.body as { total_results: number }).total_results).toBeGreaterThan(0);
      const { cosines, degraded } = await embeddings.scores('OOMKilled', ['oom@1.0.0']);
      expect(cosines.size).toBe(0);
      expect(['timed_out', 'circuit_open']).toContain(degraded);
    },
    patience,
  );
});

/** real: the ONNX runtime where it is installed (`NODE_PATH` may say where), the model of test/fixtures/models. */
describe('a model directory', () => {
  let provider: EmbeddingProvider;
  beforeAll(async () => {
    built();
    const config = loadConfig({ EMBEDDINGS_PROVIDER: 'onnx', EMBEDDINGS_MODEL_DIR: tinyModel });
    provider = await openProvider('onnx', config, none);
  });
  afterAll(() => provider.close());

  it(
    'is read by onnxruntime-node, or the operator is told how to install it',
    async () => {
      const asked = provider.embed(['RAM', 'oomkilled', 'name resolution', 'zebra'], 'document');
      if (!isInstalled('onnxruntime-node')) {
        await expect(asked).rejects.toThrow('npm install --prefix');
        return;
      }
      const [ram, oom, names, unknown] = await asked;
      expect(provider).toMatchObject({ dimensions: 4, calibration: { floor: 0.1, cut: 0.5 } });
      expect(cosine(ram, oom)).toBeCloseTo(1, 2);
      expect(cosine(ram, names)).toBeCloseTo(0, 2);
      expect(cosine(unknown, ram)).toBeCloseTo(0, 1);
      const [query] = await provider.embed(['memory'], 'query');
      expect(cosine(query, ram)).toBeCloseTo(1, 2);
      // The prefix of a query stands before it.
      expect(cosine(query, ram)).toBeLessThan(cosine(ram, ram));
    },
    patience,
  );
});

function isInstalled(name: string): boolean {
  try {
    createRequire(join(tinyModel, 'package.json')).resolve(name);
    return true;
  } catch {
    return false;
  }
}
