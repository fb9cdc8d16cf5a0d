import { Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../src/base/common/errors.js';
import { StartupWork } from '../../src/base/common/startup-work.js';
import { loadConfig } from '../../src/base/config/app-config.js';
import type { PlaybookCatalogueService } from '../../src/agents/playbooks/playbook-catalogue.service.js';
import { PlaybookImportService } from '../../src/agents/playbooks/import/playbook-import.service.js';
import type { CreatePlaybookBody } from '../../src/agents/playbooks/playbook-bodies.dto.js';
import { PlaybooksRepository } from '../../src/agents/playbooks/playbooks.repository.js';
import { compareVersions } from '../../src/agents/playbooks/playbook.validators.js';
import type { PlaybookIndex } from '../../src/agents/playbook-search/catalogue/playbook-index.js';
import { catalogueOn } from '../support/playbooks.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

Logger.overrideLogger(false);

const config = loadConfig({});
let db: TestDatabase;
let folder: string;
let repository: PlaybooksRepository;
let catalogue: PlaybookCatalogueService;
let index: PlaybookIndex;

beforeEach(async () => {
  db = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'playbooks-'));
  repository = new PlaybooksRepository(db.dataSource);
  ({ catalogue, index } = catalogueOn(db.dataSource));
});
afterEach(async () => {
  await db.release();
  await rm(folder, { recursive: true });
});

const importer = (dir: string) =>
  new PlaybookImportService(
    { playbooks: { ...config.playbooks, dir } },
    catalogue,
    new HttpAdapterHost(),
    new StartupWork(),
  );

const playbook = (version: string, over: Partial<CreatePlaybookBody> = {}): CreatePlaybookBody => ({
  playbook_id: 'billing-restart',
  version,
  name: 'Restart the billing worker',
  description: 'The billing worker hangs on its queue. Restarts it.',
  content: { steps: [{ name: 'restart', action: 'RestartPod' }] },
  signals: ['BillingQueueStalled'],
  ...over,
});

const outcomeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'created',
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

const idsFor = async (query: string, labels: Record<string, string> = {}): Promise<string[]> => {
  const { playbooks } = (await index.find({ query, labels, similarityThreshold: 0.7, limit: 10 })).answer;
  return playbooks.map(({ playbook_id }) => playbook_id);
};

const disable = (id: string, version: string, by: string, reason: string) =>
  catalogue.setStatus({ id, version }, { transition: 'disable', by, reason });
const enable = (id: string, version: string, by: string) =>
  catalogue.setStatus({ id, version }, { transition: 'enable', by, reason: undefined });

const wholeTable = () => db.dataSource.query('SELECT * FROM playbook_catalog ORDER BY playbook_id, version');

describe('import of a folder', () => {
  it('stores the sample catalogue once', async () => {
    const first = await importer(config.playbooks.dir).importFolder();
    expect(first.failed).toEqual([]);
    expect(first.imported.length).toBeGreaterThanOrEqual(36);
    const before = await wholeTable();
    expect(before).toHaveLength(first.imported.length);

    const second = await importer(config.playbooks.dir).importFolder();
    expect(second).toEqual({ imported: [], unchanged: first.imported, failed: [] });
    expect(await wholeTable()).toEqual(before);
    expect(await idsFor('postgres: too many clients already')).toContain('postgres-connections-exhausted');
  });

  it('does so once also when two servers start at the same time', async () => {
    const reports = await Promise.all([1, 2, 3].map(() => importer(config.playbooks.dir).importFolder()));
    expect(reports.flatMap(({ failed }) => failed)).toEqual([]);
    expect(await wholeTable()).toHaveLength(
      reports[0] ? reports[0].imported.length + reports[0].unchanged.length : 0,
    );
  });

  it('takes a raised version, and names what it cannot take', async () => {
    const file = join(folder, 'a.yaml');
    const yaml = (version: string, name: string) =>
      `playbook_id: a\nversion: ${version}\nname: ${name}\ndescription: d\ncontent: { kind: x }\n`;
    await writeFile(file, yaml('1.0.0', 'first'));
    await importer(folder).importFolder();

    await writeFile(file, yaml('1.0.0', 'changed'));
    expect((await importer(folder).importFolder()).failed).toEqual([
      { file: 'a.yaml', reason: expect.stringContaining('immutable') },
    ]);
    await writeFile(file, yaml('1.1.0', 'changed'));
    expect((await importer(folder).importFolder()).imported).toEqual(['a.yaml']);
    await writeFile(file, yaml('1.0.5', 'older'));
    expect((await importer(folder).importFolder()).failed).toEqual([
      { file: 'a.yaml', reason: expect.stringContaining('greater than the latest one, 1.1.0') },
    ]);
    expect(await repository.find('a', '1.1.0')).toMatchObject({ name: 'changed', previous_version: '1.0.0' });
  });

  it('goes on past bad files', async () => {
    const bad: Record<string, string> = {
      'broken.yaml': 'a: [1',
      'empty.yaml': '',
      'list.yaml': '- 1',
      'missing.yaml': 'playbook_id: x\n',
      'number.yml': 'playbook_id: n\nversion: 1.0\nname: n\ndescription: d\ncontent: { a: 1 }\n',
      'unknown.yaml':
        'playbook_id: u\nversion: 1.0.0\nname: n\ndescription: d\ncontent: { a: 1 }\nstatus: active\n',
    };
    for (const [name, text] of Object.entries(bad)) await writeFile(join(folder, name), text);
    await cp(join(config.playbooks.dir, 'cluster-dns-repair.yaml'), join(folder, 'good.yaml'));
    const { imported, failed } = await importer(folder).importFolder();
    expect(imported).toEqual(['good.yaml']);
    expect(failed.map(({ file }) => file)).toEqual(Object.keys(bad));
    expect(Object.fromEntries(failed.map(({ file, reason }) => [file, reason]))).toMatchObject({
      'missing.yaml': expect.stringContaining('version'),
      'number.yml': expect.stringContaining('semantic version'),
      'unknown.yaml': expect.stringContaining('status'),
    });
  });

  it('is content without a folder', async () => {
    expect(await importer(join(folder, 'absent')).importFolder()).toEqual({
      imported: [],
      unchanged: [],
      failed: [],
    });
  });

  it('leaves a playbook disabled that an operator disabled', async () => {
    await importer(config.playbooks.dir).importFolder();
    const found = await repository.versions('cluster-dns-repair');
    await disable('cluster-dns-repair', found[0]?.version ?? '', 'dora', 'wrong for us');
    await importer(config.playbooks.dir).importFolder();
    expect((await repository.versions('cluster-dns-repair'))[0]?.status).toBe('disabled');
  });
});

describe('versions', () => {
  it('makes each new version the latest and says which one it followed', async () => {
    expect(await catalogue.create(playbook('v1.2'))).toMatchObject({
      playbook_id: 'billing-restart',
      version: 'v1.2',
      status: 'active',
      is_latest_version: true,
      created_at: expect.any(Date),
    });
    await catalogue.create(playbook('1.10.0'));
    await catalogue.create(playbook('2-rc.1'));
    const { versions, total_versions } = await catalogue.versions('billing-restart', false);
    expect(total_versions).toBe(3);
    expect(versions.map(({ version, is_latest_version }) => [version, is_latest_version])).toEqual([
      ['2-rc.1', true],
      ['1.10.0', false],
      ['v1.2', false],
    ]);
    expect(await catalogue.get({ id: 'billing-restart', version: '2-rc.1' })).toMatchObject({
      previous_version: '1.10.0',
      content: { steps: [{ name: 'restart', action: 'RestartPod' }] },
      labels: {},
      signals: ['BillingQueueStalled'],
      expected_success_rate: null,
      total_executions: 0,
    });
  });

  it('refuses a version that exists, in whatever spelling, and one that is not greater', async () => {
    await catalogue.create(playbook('v1.2'));
    expect(await outcomeOf(catalogue.create(playbook('v1.2')))).toBe('conflict');
    expect(await outcomeOf(catalogue.create(playbook('1.2.0')))).toBe('conflict');
    expect(await outcomeOf(catalogue.create(playbook('1.1.9')))).toBe('invalid_request');
    expect(await outcomeOf(catalogue.create(playbook('1.2.0-rc.1')))).toBe('invalid_request');
    expect((await catalogue.versions('billing-restart', true)).total_versions).toBe(1);
  });

  it('keeps the order of the keys that an author chose', async () => {
    const content = { zebra: 1, apple: { y: 1, x: 2 } };
    await catalogue.create(playbook('1.0.0', { content }));
    expect(JSON.stringify((await catalogue.get({ id: 'billing-restart', version: '1.0.0' })).content)).toBe(
      JSON.stringify(content),
    );
  });

  it('admits one of twenty writers of the same version', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(catalogue.create(playbook('1.0.0')))),
    );
    expect(outcomes.sort()).toEqual([...Array.from({ length: 19 }, () => 'conflict'), 'created']);
  });

  it('keeps one latest version, the greatest, under twenty writers of different versions', async () => {
    const wanted = Array.from({ length: 20 }, (_, at) => `1.${(at * 7) % 20}.0`);
    const outcomes = await Promise.all(
      wanted.map((version) => outcomeOf(catalogue.create(playbook(version)))),
    );
    expect(new Set(outcomes)).toEqual(new Set(['created', 'invalid_request']));
    const rows = await repository.versions('billing-restart');
    expect(rows).toHaveLength(outcomes.filter((outcome) => outcome === 'created').length);
    const sorted = rows.sort((a, b) => compareVersions(b.version, a.version));
    expect(sorted.map((row) => row.is_latest_version)).toEqual(rows.map((_, at) => at === 0));
    // 1.19.0 is greater than all others, so nobody could refuse it.
    expect(sorted[0]?.version).toBe('1.19.0');
  });

  it('does not make writers of other playbooks wait', async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `playbook-${at}`);
    const create = (playbook_id: string) => outcomeOf(catalogue.create(playbook('1.0.0', { playbook_id })));
    expect(new Set(await Promise.all(ids.map(create)))).toEqual(new Set(['created']));
  });

  it('lets the database itself refuse two latest versions and impossible figures', async () => {
    await catalogue.create(playbook('1.0.0'));
    await catalogue.create(playbook('2.0.0'));
    const change = (set: string) => db.dataSource.query(`UPDATE playbook_catalog SET ${set}`);
    await expect(change('is_latest_version = true')).rejects.toThrow('idx_playbook_catalog_latest');
    await expect(change("status = 'gone'")).rejects.toThrow('check');
    await expect(change("status = 'disabled'")).rejects.toThrow('check');
    await expect(change('successful_executions = 5')).rejects.toThrow('check');
    await expect(change('expected_success_rate = 1.2')).rejects.toThrow('check');
  });
});

describe('what search finds', () => {
  const query = 'BillingQueueStalled: the billing worker hangs';

  it('follows every change at once', async () => {
    expect(await idsFor(query)).toEqual([]);
    await catalogue.create(playbook('1.0.0'));
    expect(await idsFor(query)).toEqual(['billing-restart']);
    await disable('billing-restart', '1.0.0', 'dora', 'made it worse');
    expect(await idsFor(query)).toEqual([]);
    await enable('billing-restart', '1.0.0', 'dora');
    expect(await idsFor(query)).toEqual(['billing-restart']);
  });

  it('is the latest version only: a disabled one does not bring its predecessor back', async () => {
    await catalogue.create(playbook('1.0.0'));
    await catalogue.create(playbook('2.0.0', { description: 'Restarts the billing worker gently.' }));
    const found = (await index.find({ query, labels: {}, similarityThreshold: 0.7, limit: 5 })).answer;
    expect(found.playbooks.map(({ version }) => version)).toEqual(['2.0.0']);
    await disable('billing-restart', '2.0.0', 'dora', 'too gentle');
    expect(await idsFor(query)).toEqual([]);
  });

  it('is filtered by labels before it is ranked', async () => {
    await importer(config.playbooks.dir).importFolder();
    const oom = 'container OOMKilled with exit code 137';
    expect(await idsFor(oom)).toEqual(
      expect.arrayContaining(['oomkill-increase-memory', 'oomkill-reduce-footprint']),
    );
    const budget = await idsFor(oom, { 'cost-tier': 'budget', 'memory-scaling': 'disabled' });
    expect(budget).toContain('oomkill-reduce-footprint');
    expect(budget).not.toContain('oomkill-increase-memory');
    const freeCapacity = 'preview workloads should be scaled to zero to free cluster capacity';
    expect(await idsFor(freeCapacity, { environment: 'staging' })).toContain('noncritical-scale-down');
    expect(await idsFor(freeCapacity, { environment: 'production' })).not.toContain('noncritical-scale-down');
  });
});

describe('status', () => {
  beforeEach(() => catalogue.create(playbook('1.0.0')));

  it('keeps who, when and why while a version is disabled', async () => {
    expect(await disable('billing-restart', '1.0.0', 'dora', 'made it worse')).toEqual({
      playbook_id: 'billing-restart',
      version: '1.0.0',
      status: 'disabled',
      disabled_at: expect.any(Date),
      disabled_by: 'dora',
      disabled_reason: 'made it worse',
      deprecation_notice: null,
      updated_at: expect.any(Date),
    });
    expect(await catalogue.versions('billing-restart', false)).toMatchObject({
      versions: [],
      total_versions: 0,
    });
    expect(await catalogue.versions('billing-restart', true)).toMatchObject({ total_versions: 1 });
    expect(await enable('billing-restart', '1.0.0', 'emil')).toMatchObject({
      status: 'active',
      disabled_at: null,
      disabled_by: null,
      disabled_reason: null,
    });
  });

  it('refuses what is no transition, and unknown versions', async () => {
    expect(await outcomeOf(enable('billing-restart', '1.0.0', 'x'))).toBe('conflict');
    await disable('billing-restart', '1.0.0', 'dora', 'first');
    expect(await outcomeOf(disable('billing-restart', '1.0.0', 'emil', 'second'))).toBe('conflict');
    expect(await catalogue.get({ id: 'billing-restart', version: '1.0.0' })).toMatchObject({
      disabled_by: 'dora',
    });
    expect(await outcomeOf(disable('billing-restart', '9.0.0', 'x', 'y'))).toBe('not_found');
    expect(await outcomeOf(catalogue.versions('nobody', true))).toBe('not_found');
  });
});

describe('list', () => {
  it('pages through the latest versions by id', async () => {
    for (const playbook_id of ['b', 'a', 'C', 'a-b'])
      await catalogue.create(playbook('1.0.0', { playbook_id }));
    await catalogue.create(playbook('2.0.0', { playbook_id: 'a' }));
    const pages: string[][] = [];
    let cursor: string | null | undefined;
    do {
      const page = await catalogue.list(2, cursor ?? undefined);
      pages.push(page.data.map(({ playbook_id, version }) => `${playbook_id}@${version}`));
      cursor = page.nextCursor;
    } while (cursor);
    expect(pages).toEqual([
      ['C@1.0.0', 'a@2.0.0'],
      ['a-b@1.0.0', 'b@1.0.0'],
    ]);
  });

  it.each(['%%%', 'AA', Buffer.from('a/b').toString('base64url')])(
    'refuses the cursor %p',
    async (cursor) => {
      expect(await outcomeOf(catalogue.list(2, cursor))).toBe('invalid_request');
    },
  );
});
