import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlaybookIndex } from '../../src/agents/playbook-search/catalogue/playbook-index.js';
import { ShownPlaybooks } from '../../src/agents/playbooks/shown/shown-playbooks.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
});
afterAll(() => tk.close());
beforeEach(async () => {
  await tk.db.dataSource.query('TRUNCATE playbook_catalog CASCADE');
  tk.app.get(PlaybookIndex).invalidate();
});

const root = '/api/v1/playbooks';
const playbook = (playbook_id: string, version = '1.0.0', over: object = {}) => ({
  playbook_id,
  version,
  name: 'Restart the billing worker',
  description: 'The billing worker hangs on its queue. Restarts it.',
  content: { steps: [{ name: 'restart', action: 'RestartPod' }] },
  signals: ['BillingQueueStalled'],
  ...over,
});
const load = (body: object) => tk.http.post(`${root}/import`).send(body);
const loadYaml = (text: string, type = 'application/yaml') =>
  tk.http.post(`${root}/import`).set('content-type', type).send(text);
const listed = async (): Promise<string[]> =>
  (await tk.http.get(root).expect(200)).body.data.map((each: Json) => `${each.playbook_id}@${each.version}`);
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

describe('POST /api/v1/playbooks/import', () => {
  it('stores a list, and again does nothing', async () => {
    const batch = [playbook('a', '1.1.0'), playbook('b'), playbook('a', '1.0.0')];
    const first = await load(batch).expect(200);
    expect(first.body.unchanged).toEqual([]);
    expect(first.body.imported).toHaveLength(3);
    expect(first.body.imported).toContainEqual({
      playbook_id: 'a',
      version: '1.1.0',
      status: 'active',
      is_latest_version: true,
      created_at: isoTime,
    });
    expect(await listed()).toEqual(['a@1.1.0', 'b@1.0.0']);
    const again = await load({ playbooks: batch }).expect(200);
    expect(again.body.imported).toEqual([]);
    expect(again.body.unchanged).toHaveLength(3);
    const { body } = await tk.http.get(`${root}/a/versions/1.1.0`).expect(200);
    expect(body).toMatchObject({
      previous_version: '1.0.0',
      created_by: 'admin',
      signals: ['BillingQueueStalled'],
    });
  });

  it('takes one playbook, and YAML of one, several documents or a list', async () => {
    await load(playbook('a')).expect(200);
    const yaml = (id: string) =>
      `playbook_id: ${id}\nversion: 1.0.0\nname: n\ndescription: d\ncontent:\n  z: 1\n  a: 2\nsignals: [OOMKilled]\n`;
    await loadYaml(yaml('b')).expect(200);
    const several = await loadYaml(`${yaml('c')}---\n${yaml('d')}---\n`, 'text/yaml; charset=utf-8').expect(
      200,
    );
    expect(several.body.imported).toHaveLength(2);
    await loadYaml(`playbooks:\n  - ${yaml('e').trim().replaceAll('\n', '\n    ')}`).expect(200);
    expect(await listed()).toEqual(['a@1.0.0', 'b@1.0.0', 'c@1.0.0', 'd@1.0.0', 'e@1.0.0']);
    const { text } = await tk.http.get(`${root}/c/versions/1.0.0`);
    expect(text).toContain('"content":{"z":1,"a":2}');
  });

  it('takes the playbook that its page shows', async () => {
    const page = readFileSync(join(__dirname, '..', '..', 'docs', 'agents', 'playbooks.md'), 'utf8');
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    const { body } = await loadYaml(example).expect(200);
    expect(body.imported).toEqual([expect.objectContaining({ playbook_id: 'cluster-dns-repair' })]);
  });

  it('names every wrong field of every playbook, and stores nothing', async () => {
    await load(playbook('taken', '2.0.0')).expect(200);
    const { body } = await load([
      playbook('good'),
      playbook('bad', 'newest', { labels: { a: 1 } }),
      'no playbook',
      playbook('worse', '1.0.0', { surprise: 1, content: undefined }),
    ]).expect(400);
    expect(body.code).toBe('invalid_request');
    expect(body.errors.map(({ pointer }: Json) => pointer).sort()).toEqual([
      '/1/labels',
      '/1/version',
      '/2',
      '/3/content',
      '/3/surprise',
    ]);
    const conflicts = await load({
      playbooks: [playbook('good'), playbook('taken', '2.0.0', { name: 'other' })],
    }).expect(409);
    expect(conflicts.body.errors).toEqual([{ pointer: '/playbooks/1/version', detail: expect.any(String) }]);
    const older = await load([
      playbook('good'),
      playbook('taken', '1.0.0'),
      playbook('taken', '2', { name: 'x' }),
    ]);
    expect([older.status, older.body.errors.map(({ pointer }: Json) => pointer)]).toEqual([
      400,
      ['/1/version', '/2/version'],
    ]);
    const twice = await load([playbook('good'), playbook('good', 'v1')]).expect(409);
    expect(twice.body.errors).toEqual([{ pointer: '/1/version', detail: expect.stringContaining('good') }]);
    expect(await listed()).toEqual(['taken@2.0.0']);
  });

  it.each<[string, string, number]>([
    ['no YAML', 'a: [1', 400],
    ['nothing', '', 400],
    [
      'a bomb',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replace(/./g, (c, at: number) => `${c}: &${c} [${Array(9).fill(`*${'abcdefgh'[at]}`).join()}]\n`)}`,
      400,
    ],
    ['a circle', 'playbook_id: a\nversion: 1.0.0\nname: n\ndescription: d\ncontent: &c\n  self: *c\n', 400],
    ['brackets without end', '['.repeat(20_000), 400],
    ['too much', `# ${'x'.repeat(1_100_000)}`, 413],
  ])('refuses YAML that is %s', async (_what, text, status) => {
    const answer = await loadYaml(text);
    expect([answer.status, answer.type]).toEqual([status, 'application/problem+json']);
    expect(await listed()).toEqual([]);
  });

  it('lets nothing else wait for YAML that takes long', async () => {
    const keys = Array.from({ length: 30_000 }, (_, at) => `key${at}: value`).join('\n');
    let isRead = false;
    const reading = loadYaml(keys).then((answer) => {
      isRead = true;
      return answer;
    });
    await tk.http.get(root).expect(200);
    await tk.call('get_playbooks', { query: 'BillingQueueStalled' }).expect(200);
    expect(isRead).toBe(false);
    expect((await reading).status).toBe(400);
  });

  it('refuses empty, oversized and strangely wrapped imports, and YAML elsewhere', async () => {
    await load([]).expect(400);
    await load({ playbooks: {} }).expect(400);
    await load({ playbooks: [playbook('a')], force: true }).expect(400);
    await load(Array.from({ length: 1_001 }, () => ({}))).expect(400);
    await tk.http.post(root).set('content-type', 'application/yaml').send('a: 1').expect(415);
  });

  it('stores a thousand at once', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => playbook(`p${at}`));
    expect((await load(many).expect(200)).body.imported).toHaveLength(1_000);
  });

  it('lets imports and creations of the same ids run side by side without one being lost or half done', async () => {
    const batches = Array.from({ length: 8 }, (_, at) =>
      ['x', 'y', 'z'].map((id) => playbook(id, `1.${at}.0`)),
    );
    const answers = await Promise.all([
      ...batches.map((batch, at) => load(at % 2 ? batch : [...batch].reverse())),
      ...batches.map((_, at) => tk.http.post(root).send(playbook('y', `1.${at}.5`))),
    ]);
    expect(answers.filter(({ status }) => ![200, 201, 400].includes(status))).toEqual([]);
    const versionsOf = async (id: string) =>
      (await tk.http.get(`${root}/${id}/versions`)).body.versions as Json[];
    const [x, y, z] = await Promise.all([versionsOf('x'), versionsOf('y'), versionsOf('z')]);
    const names = (versions: Json[] | undefined) => versions?.map(({ version }) => version);
    expect(names(x)).toEqual(names(z));
    expect(names(y)).toEqual(expect.arrayContaining(names(x) ?? []));
    expect(names(x)).toHaveLength(answers.filter(({ status }) => status === 200).length);
    for (const versions of [x, y, z])
      expect(versions?.map((each) => each.is_latest_version)).toEqual(versions?.map((_, at) => at === 0));
  });
});

describe('status of a version', () => {
  const change = (what: string, body: object, version = '1.0.0') =>
    tk.http.patch(`${root}/a/${version}/${what}`).send(body);
  const disable = { disabled_by: 'dora', disabled_reason: 'made it worse' };

  beforeEach(() => load(playbook('a')));

  it('goes its way to the archive, and its history says who, when and why', async () => {
    await change('disable', disable).expect(200);
    await change('enable', { enabled_by: 'emil', enabled_reason: 'it was the network' }).expect(200);
    const deprecated = await change('deprecate', {
      deprecated_by: 'dora',
      deprecation_notice: 'Use b',
    }).expect(200);
    expect(deprecated.body).toEqual({
      playbook_id: 'a',
      version: '1.0.0',
      status: 'deprecated',
      deprecated_at: isoTime,
      deprecated_by: 'dora',
      deprecation_notice: 'Use b',
    });
    const archived = await change('archive', { archived_by: 'emil', archived_reason: 'old' }).expect(200);
    expect(archived.body).toEqual({
      playbook_id: 'a',
      version: '1.0.0',
      status: 'archived',
      archived_at: isoTime,
      archived_by: 'emil',
      archived_reason: 'old',
    });
    const { body } = await tk.http.get(`${root}/a/versions/1.0.0`);
    expect(body).toMatchObject({ status: 'archived', deprecation_notice: 'Use b', updated_by: 'emil' });
    const history = body.status_history.map((each: Json) => [each.to_status, each.changed_by, each.reason]);
    expect(history).toEqual([
      ['disabled', 'dora', 'made it worse'],
      ['active', 'emil', 'it was the network'],
      ['deprecated', 'dora', 'Use b'],
      ['archived', 'emil', 'old'],
    ]);
    const versions = await tk.http.get(`${root}/a/versions`);
    expect(versions.body.versions[0]).toMatchObject({ status: 'archived', deprecation_notice: 'Use b' });
  });

  it('refuses every transition that there is not', async () => {
    const steps = {
      disable,
      enable: { enabled_by: 'x' },
      deprecate: { deprecated_by: 'x', deprecation_notice: 'y' },
      archive: { archived_by: 'x', archived_reason: 'y' },
    };
    const refused = async () => {
      const status = (await tk.http.get(`${root}/a/versions/1.0.0`)).body.status as string;
      const allowed: Record<string, string[]> = {
        active: ['disable', 'deprecate', 'archive'],
        disabled: ['enable'],
        deprecated: ['archive'],
        archived: [],
      };
      for (const [what, body] of Object.entries(steps)) {
        if (allowed[status]?.includes(what)) continue;
        const answer = await change(what, body);
        expect([status, what, answer.status, answer.body.code]).toEqual([status, what, 409, 'conflict']);
      }
    };
    await refused();
    for (const what of ['disable', 'enable', 'deprecate', 'archive'] as const) {
      await change(what, steps[what]).expect(200);
      await refused();
    }
  });

  it('admits one of many who change it at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => change('disable', disable)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array.from({ length: 11 }, () => 409),
    ]);
    const { body } = await tk.http.get(`${root}/a/versions/1.0.0`);
    expect(body.status_history).toHaveLength(1);
  });
});

describe('POST …/outcomes', () => {
  const report = (body: object) => tk.http.post(`${root}/a/versions/1.0.0/outcomes`).send(body);
  beforeEach(() => load(playbook('a')));

  it('counts every one of many that come at once', async () => {
    await Promise.all(Array.from({ length: 60 }, (_, at) => report({ success: at % 3 !== 0 }).expect(200)));
    const { body } = await tk.http.get(`${root}/a/versions/1.0.0`);
    expect(body).toMatchObject({
      total_executions: 60,
      successful_executions: 40,
      actual_success_rate: 0.667,
    });
  });

  it('counts a named execution once, whoever reports it, and refuses another outcome of it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => report({ success: true, execution_id: 'e1' }).expect(200)),
    );
    expect(answers.filter(({ body }) => body.counted)).toHaveLength(1);
    await report({ success: false, execution_id: 'e1' }).expect(409);
    const last = await report({ success: false, execution_id: 'e2' }).expect(200);
    expect(last.body).toEqual({
      playbook_id: 'a',
      version: '1.0.0',
      total_executions: 2,
      successful_executions: 1,
      actual_success_rate: 0.5,
      counted: true,
    });
  });
});

describe('GET …/diff/…', () => {
  it('says what an author changed, to the step', async () => {
    await load([
      playbook('a', '1.0.0', { labels: { environment: 'staging' }, owner: 'team-a' }),
      playbook('a', '1.1.0', {
        labels: { environment: '*' },
        when_to_use: 'Always.',
        content: { steps: [{ name: 'restart', action: 'RestartDeployment' }, { name: 'look' }] },
      }),
    ]);
    const { body } = await tk.http.get(`${root}/a/versions/1.0.0/diff/1.1.0`).expect(200);
    expect(body).toEqual({
      playbook_id: 'a',
      from: '1.0.0',
      to: '1.1.0',
      changes: expect.arrayContaining([
        { pointer: '/owner', change: 'removed', from: 'team-a' },
        { pointer: '/labels/environment', change: 'changed', from: 'staging', to: '*' },
        { pointer: '/when_to_use', change: 'added', to: 'Always.' },
        {
          pointer: '/content/steps/0/action',
          change: 'changed',
          from: 'RestartPod',
          to: 'RestartDeployment',
        },
        { pointer: '/content/steps/1', change: 'added', to: { name: 'look' } },
      ]),
    });
    expect(body.changes).toHaveLength(5);
  });
});

describe('GET …/search?explain=true', () => {
  const explain = (query: object) =>
    tk.http
      .get(`${root}/search`)
      .query({ query: 'BillingQueueStalled, the worker hangs', explain: 'true', ...query });

  beforeEach(async () => {
    await load([
      playbook('best', '1.0.0', { labels: { environment: ['production', 'staging'] } }),
      playbook('other-place', '1.0.0', { labels: { environment: 'test' } }),
      playbook('second'),
      playbook('off'),
      playbook('stranger', '1.0.0', { name: 'Zebra', description: 'Stripes.', signals: [] }),
    ]);
    await tk.http
      .patch(`${root}/off/1.0.0/disable`)
      .send({ disabled_by: 'd', disabled_reason: 'r' })
      .expect(200);
  });

  it('says for each playbook what kept it out, or how its confidence came about', async () => {
    const { body } = await explain({ 'label.environment': 'Production', max_results: 1 }).expect(200);
    expect(body.playbooks.map((each: Json) => each.playbook_id)).toEqual(['best']);
    expect(Object.keys(body.playbooks[0])).toEqual(['playbook_id', 'version', 'description', 'confidence']);
    const { candidates, ...rest } = body.explanation;
    expect(rest).toEqual({
      catalogue_revision: expect.any(String),
      min_confidence: 0.7,
      max_results: 1,
      labels: { environment: 'production' },
      degraded: null,
      total_candidates: 5,
    });
    expect(candidates.map((each: Json) => [each.playbook_id, each.shown, each.removed_by])).toEqual([
      ['best', true, null],
      ['second', false, 'limit'],
      ['off', false, 'status'],
      ['other-place', false, 'label'],
      ['stranger', false, 'no_match'],
    ]);
    expect(candidates[0]).toMatchObject({ cosine: null, matched_terms: expect.arrayContaining(['worker']) });
    expect(candidates[0].calibrated).toBeCloseTo(body.playbooks[0].confidence, 2);
    expect(candidates[3].reason).toBe('Its label environment allows test; production was asked for');
    expect(candidates[2].reason).toBe('Its latest version, 1.0.0, is disabled');
  });

  it('explains the threshold, one playbook alone, and nothing unless asked', async () => {
    const strict = await explain({ min_confidence: 1, playbook_id: 'second' }).expect(200);
    expect(strict.body.playbooks).toEqual([]);
    expect(strict.body.explanation.candidates).toEqual([
      expect.objectContaining({ playbook_id: 'second', removed_by: 'threshold', shown: false }),
    ]);
    const plain = await explain({ explain: 'false' }).expect(200);
    expect(plain.body).not.toHaveProperty('explanation');
    await explain({ explain: 'maybe' }).expect(400);
    const tool = await tk.call('get_playbooks', { query: 'BillingQueueStalled' }).expect(200);
    expect(Object.keys(tool.body.result)).toEqual(['playbooks', 'total_results']);
  });
});

describe('selection safety', () => {
  it('says whether an investigation was shown a version', async () => {
    await load([playbook('a'), playbook('b')]);
    tk.app.get(ShownPlaybooks).remember('inv-1', [{ playbook_id: 'a', version: '1.0.0' }]);
    const get = (id: string, investigationId: string) =>
      tk.http.get(`${root}/${id}/versions/1.0.0`).query({ investigationId }).expect(200);
    expect((await get('a', 'inv-1')).body.shown_to_investigation).toEqual({
      investigation_id: 'inv-1',
      shown: true,
      first_shown_at: isoTime,
      last_shown_at: isoTime,
      times: 1,
    });
    const never = { shown: false, first_shown_at: null, last_shown_at: null, times: 0 };
    expect((await get('b', 'inv-1')).body.shown_to_investigation).toMatchObject(never);
    expect((await get('a', 'inv-2')).body.shown_to_investigation).toMatchObject(never);
    expect((await tk.http.get(`${root}/a/versions/1.0.0`)).body).not.toHaveProperty('shown_to_investigation');
    const all = await tk.http.get(`${root}/shown`).query({ investigationId: 'inv-1' }).expect(200);
    expect(all.body).toEqual({
      investigation_id: 'inv-1',
      playbooks: [
        { playbook_id: 'a', version: '1.0.0', first_shown_at: isoTime, last_shown_at: isoTime, times: 1 },
      ],
      total: 1,
    });
  });
});
