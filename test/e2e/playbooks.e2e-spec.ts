import { startApp, type TestApp } from '../support/app.js';
import { PlaybookIndex } from '../../src/agents/playbook-search/catalogue/playbook-index.js';

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
});
afterAll(() => tk.close());
beforeEach(async () => {
  await tk.db.dataSource.query('TRUNCATE playbook_catalog CASCADE');
  tk.app.get(PlaybookIndex).invalidate();
});

const api = () => tk.http;
const root = '/api/v1/playbooks';
const playbook = {
  playbook_id: 'billing-restart',
  version: 'v1.2',
  name: 'Restart the billing worker',
  description: 'The billing worker hangs on its queue. Restarts it.',
  owner: 'team-billing',
  maintainer: 'billing@example.com',
  content: 'steps:\n  - restart\n',
  labels: { environment: 'production', priority: ['P0', 'P1'] },
  signals: ['BillingQueueStalled'],
  expected_success_rate: 0.875,
  expected_duration_seconds: 60,
};
const create = (over: object = {}) =>
  api()
    .post(root)
    .send({ ...playbook, ...over });

const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

describe('POST /api/v1/playbooks', () => {
  it('stores a version and answers it', async () => {
    const { status, body } = await create();
    expect(status).toBe(201);
    expect(body).toEqual({
      playbook_id: 'billing-restart',
      version: 'v1.2',
      status: 'active',
      is_latest_version: true,
      created_at: isoTime,
    });
  });

  it('names what is wrong and changes nothing', async () => {
    await create();
    const cases: [object, number, string, string | undefined][] = [
      [{ version: 'newest' }, 400, 'invalid_request', '/version'],
      [{ version: '1.1' }, 400, 'invalid_request', '/version'],
      [{}, 409, 'conflict', undefined],
      [{ version: '2.0.0', extra: 1 }, 400, 'invalid_request', '/extra'],
      [{ version: '2.0.0', labels: { a: 1 } }, 400, 'invalid_request', '/labels'],
      [{ version: '2.0.0', name: 'a\0b' }, 400, 'invalid_request', '/name'],
      [{ version: '2.0.0', content: undefined }, 400, 'invalid_request', '/content'],
    ];
    for (const [over, status, code, pointer] of cases) {
      const answer = await create(over);
      expect([over, answer.status, answer.body.code]).toEqual([over, status, code]);
      expect(answer.headers['content-type']).toContain('application/problem+json');
      if (pointer) expect(answer.body.errors).toContainEqual({ pointer, detail: expect.any(String) });
    }
    expect(
      (await api().get(`${root}/billing-restart/versions?include_disabled=true`)).body.total_versions,
    ).toBe(1);
  });
});

describe('GET /api/v1/playbooks/search', () => {
  const search = (query: object) => api().get(`${root}/search`).query(query);
  beforeEach(() => create());

  it('answers four fields of each playbook and nothing else', async () => {
    const { status, body } = await search({ query: 'BillingQueueStalled, the worker hangs' });
    expect(status).toBe(200);
    expect(body).toEqual({
      playbooks: [
        {
          playbook_id: 'billing-restart',
          version: 'v1.2',
          description: playbook.description,
          confidence: expect.any(Number),
        },
      ],
      total_results: 1,
    });
    expect(body.playbooks[0].confidence).toBeGreaterThanOrEqual(0.7);
  });

  it('filters by labels from the query string', async () => {
    const found = async (labels: object) =>
      (await search({ query: 'BillingQueueStalled', ...labels })).body.total_results;
    expect(
      await found({ 'label.environment': 'PRODUCTION', 'label.priority': 'p1', 'label.team': 'x' }),
    ).toBe(1);
    expect(await found({ 'label.environment': 'staging' })).toBe(0);
    expect(await found({ 'label.kubernaut.io/environment': 'staging' })).toBe(0);
    expect(await found({ 'label.environment': '*' })).toBe(1);
  });

  it('answers an empty list when nothing fits', async () => {
    const { status, body } = await search({ query: 'nonexistent_signal_type_xyz' });
    expect([status, body]).toEqual([200, { playbooks: [], total_results: 0 }]);
  });

  it('refuses bad parameters by name', async () => {
    for (const [query, pointer] of [
      [{}, '/query'],
      [{ query: 'x', min_confidence: 2 }, '/min_confidence'],
      [{ query: 'x', max_results: 0 }, '/max_results'],
      [{ query: 'x', limit: 3 }, '/limit'],
      [{ query: 'x', 'label.a': ['1', '2'] }, '/label.a'],
    ] as const) {
      const { status, body } = await search(query);
      expect([status, body.code]).toEqual([400, 'invalid_request']);
      expect(body.errors).toContainEqual({ pointer, detail: expect.any(String) });
    }
  });
});

describe('versions of a playbook', () => {
  it('lists them, shows one, and takes one out of search and back', async () => {
    await create();
    await create({ version: '2.0.0' });
    const disabled = await api()
      .patch(`${root}/billing-restart/v1.2/disable`)
      .send({ disabled_by: 'dora', disabled_reason: 'superseded' });
    expect([disabled.status, disabled.body]).toEqual([
      200,
      {
        playbook_id: 'billing-restart',
        version: 'v1.2',
        status: 'disabled',
        disabled_at: isoTime,
        disabled_by: 'dora',
        disabled_reason: 'superseded',
      },
    ]);

    const latest = {
      version: '2.0.0',
      status: 'active',
      is_latest_version: true,
      actual_success_rate: null,
      total_executions: 0,
      created_at: isoTime,
    };
    const older = { ...latest, version: 'v1.2', status: 'disabled', is_latest_version: false };
    const listed = await api().get(`${root}/billing-restart/versions`);
    expect(listed.body).toEqual({ playbook_id: 'billing-restart', versions: [latest], total_versions: 1 });
    const all = await api().get(`${root}/billing-restart/versions?include_disabled=true`);
    expect(all.body).toEqual({
      playbook_id: 'billing-restart',
      versions: [latest, older],
      total_versions: 2,
    });

    const enabled = await api().patch(`${root}/billing-restart/v1.2/enable`).send({ enabled_by: 'emil' });
    expect(enabled.body).toMatchObject({
      status: 'active',
      disabled_at: null,
      disabled_by: null,
      disabled_reason: null,
    });

    const shown = await api().get(`${root}/billing-restart/versions/v1.2`);
    expect(shown.body).toMatchObject({
      ...playbook,
      is_latest_version: false,
      previous_version: null,
      signals: playbook.signals,
    });
  });

  it('answers 404, 409 and 400 where they are due', async () => {
    await create();
    const by = { disabled_by: 'dora', disabled_reason: 'x' };
    const answers = await Promise.all([
      api().get(`${root}/nobody/versions`),
      api().get(`${root}/billing-restart/versions/9.9`),
      api().patch(`${root}/billing-restart/9.9/disable`).send(by),
      api().patch(`${root}/billing-restart/v1.2/enable`).send({ enabled_by: 'dora' }),
      api().patch(`${root}/billing-restart/v1.2/disable`).send({ disabled_by: 'dora' }),
      api().get(`${root}/a%20b/versions`),
      api().get(`${root}/billing-restart/versions/newest`),
      api().get(`${root}/billing-restart/versions?include_disabled=yes`),
      api().get(`${root}?limit=0`),
      api().get(`${root}?cursor=%25`),
      api().get(`${root}/billing-restart/versions/v1.2/diff/9.9`),
      api().post(`${root}/billing-restart/versions/9.9/outcomes`).send({ success: true }),
      api().post(`${root}/billing-restart/versions/v1.2/outcomes`).send({ success: 'yes' }),
      api().get(`${root}/billing-restart/versions/v1.2?investigationId=`),
      api().get(`${root}/shown`),
      api().patch(`${root}/billing-restart/v1.2/deprecate`).send({ deprecated_by: 'dora' }),
      api().patch(`${root}/billing-restart/v1.2/archive`).send({ archived_by: 'dora', reason: 'x' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      404, 404, 404, 409, 400, 400, 400, 400, 400, 400, 404, 404, 400, 400, 400, 400, 400,
    ]);
    for (const { body, status } of answers.filter((each) => each.status === 400 && each.body.code))
      expect([status, body.errors?.length]).toEqual([400, expect.any(Number)]);
  });

  it('lists the catalogue page by page', async () => {
    for (const playbook_id of ['c', 'a', 'b']) await create({ playbook_id });
    const first = await api().get(`${root}?limit=2`);
    expect(first.body.data.map((each: { playbook_id: string }) => each.playbook_id)).toEqual(['a', 'b']);
    expect(first.body.data[0]).not.toHaveProperty('content');
    const second = await api().get(root).query({ limit: 2, cursor: first.body.nextCursor });
    expect(second.body).toMatchObject({
      data: [{ playbook_id: 'c', owner: 'team-billing', total_versions: 1, total_executions: 0 }],
      nextCursor: null,
    });
  });
});

describe('imports of YAML at the same time', () => {
  const send = (text: string) =>
    api().post(`${root}/import`).set('content-type', 'application/yaml').send(text);
  const { content: _long, ...short } = playbook;
  const yaml = (n: number): string =>
    JSON.stringify({ ...short, content: 'a: 1', playbook_id: `together-${n}` });

  it('are read one after another; a few wait, and the others are told to come again', async () => {
    // Many keys in one map: each reading takes longer than the requests need to come.
    const slow = `{${Array.from({ length: 2_000 }, (_, n) => `k${n}: 1`).join()}}`;
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(slow)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(9);
    for (const { body, headers } of refused) {
      expect(body).toMatchObject({
        code: 'rate_limited',
        detail: expect.stringMatching(/3 imports of YAML at a time.*all callers 5$/),
      });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    // The others were read: what they hold is no playbook.
    for (const { status, body } of answers.filter((answer) => !refused.includes(answer))) {
      expect([status, body.code]).toEqual([400, 'invalid_request']);
    }
    for (let n = 0; n < 3; n++) await send(yaml(n)).expect(200);
    expect((await Promise.all([3, 4, 5].map((n) => send(yaml(n))))).map(({ status }) => status)).toEqual([
      200, 200, 200,
    ]);
  });
});
