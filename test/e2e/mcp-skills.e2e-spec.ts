import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import { startApp, type TestApp } from '../support/app.js';
import { bearer } from '../support/admin-key.js';
import type { Json } from '../support/json.js';

// real: the whole server, HTTP, PostgreSQL; mock: nothing

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp();
});
afterAll(() => tk.close());

const store = (playbook_id: string, more: object = {}) =>
  tk.http
    .post('/api/v1/playbooks')
    .send({
      playbook_id,
      version: '1.0.0',
      name: `Repair ${playbook_id}`,
      description: 'Reads the log: "why",\nthen restarts.',
      labels: { environment: '*' },
      content: { steps: [{ name: 'look' }] },
      ...more,
    })
    .expect(201);

async function ask(
  method: string,
  params: Json = {},
  headers: Record<string, string> = tk.key,
): Promise<Json> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const names = { 'mcp-method': method, ...(method === 'resources/read' && { 'mcp-name': params.uri }) };
  const { status, body } = await tk.anonymous
    .post('/mcp')
    .set({ 'mcp-protocol-version': '2026-07-28', ...names, ...headers })
    .set('accept', 'application/json, text/event-stream')
    .send({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } });
  return { status, ...body };
}
const uriOf = (name: string): string => `skill://playbooks/${name}/SKILL.md`;
const listed = async (): Promise<Json[]> => (await ask('skills/list')).result.skills;
const urisOf = (skills: Json[]): string[] => skills.map(({ uri }) => uri);

describe('a playbook as a skill', () => {
  it('is listed with the frontmatter and the digest of the file that is read', async () => {
    const answer = await ask('server/discover');
    expect(answer.result.capabilities.extensions).toHaveProperty(['io.modelcontextprotocol/skills'], {});
    await store('crash_loop', {
      when_to_use: 'The last state is Error.',
      when_not_to_use: 'It was OOMKilled.',
      signals: ['CrashLoopBackOff'],
      content: 'steps: |\n  ```sh\n  kubectl get pods\n  ```\n',
    });
    const { result } = await ask('skills/list');
    expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    const [skill] = result.skills;
    expect(skill).toMatchObject({
      uri: uriOf('crash-loop'),
      frontmatter: {
        name: 'crash-loop',
        description:
          'Repair crash_loop: Reads the log: "why", then restarts. Use when: The last state is Error. Not when: It was OOMKilled. Signals: CrashLoopBackOff',
        metadata: { playbook_id: 'crash_loop', version: '1.0.0' },
      },
    });
    expect((await ask('skills/get', { uri: skill.uri })).result).toMatchObject({ skill });

    const { contents } = (await ask('resources/read', { uri: skill.uri })).result;
    const { text, ...about } = contents[0];
    expect(about).toEqual({ uri: skill.uri, mimeType: 'text/markdown' });
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    expect(skill.resources).toEqual([{ uri: skill.uri, digest, size: Buffer.byteLength(text) }]);
    expect(parse(text.split('---\n')[1])).toEqual(skill.frontmatter);
    expect(text).toContain('````\nsteps: |\n  ```sh\n  kubectl get pods\n  ```\n````');
    const { resources } = (await ask('resources/list')).result;
    expect(resources).toContainEqual(
      expect.objectContaining({ uri: skill.uri, name: 'crash-loop', mimeType: 'text/markdown' }),
    );
  });

  it('of a name that another one has is left out', async () => {
    await store('disk.full', { version: '1.0.0' });
    await store('Disk_Full', { version: '2.0.0' });
    const names = async (): Promise<Json[]> =>
      (await listed()).map(({ frontmatter }) => frontmatter.metadata.playbook_id);
    expect((await names()).filter((id) => /disk/i.test(id))).toEqual(['Disk_Full']);
    await store('disk-full', { version: '3.0.0' });
    expect((await names()).filter((id) => /disk/i.test(id))).toEqual(['disk-full']);
  });

  it('is the latest version, as long as that is active', async () => {
    await store('certificate-renew');
    await store('certificate-renew', { version: '1.1.0', name: 'Renew' });
    const [skill] = (await listed()).filter(({ uri }) => uri === uriOf('certificate-renew'));
    expect(skill.frontmatter.metadata.version).toBe('1.1.0');
    const version = '/api/v1/playbooks/certificate-renew/1.1.0';
    await tk.http
      .patch(`${version}/disable`)
      .send({ disabled_by: 'dora', disabled_reason: 'wrong' })
      .expect(200);
    expect(urisOf(await listed())).not.toContain(skill.uri);
    for (const method of ['skills/get', 'resources/read'])
      expect((await ask(method, { uri: skill.uri })).error).toMatchObject({ code: -32602 });
  });

  it('is for callers who may read playbooks', async () => {
    const made = { name: 'spans only', scopes: ['traces:write'] };
    const { body: key } = await tk.http.post('/api/v1/keys').send(made).expect(201);
    expect((await ask('skills/list', {}, bearer(key.key))).status).toBe(403);
  });
});
