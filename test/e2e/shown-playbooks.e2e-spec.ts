import { startApp, type TestApp } from '../support/app.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp({ PLAYBOOKS_DIR: shippedPlaybooks });
});
afterAll(() => tk.close());

it('what get_playbooks shows is remembered, a cached answer as well', async () => {
  const ask = (investigationId: string) =>
    tk.call('get_playbooks', { query: 'pod OOMKilled, exit code 137' }, { investigationId }).expect(200);
  const first = await ask('inv-1');
  const again = await ask('inv-1');
  const other = await ask('inv-2');
  expect([again.body.cached, other.body.cached]).toEqual([true, true]);
  const { playbooks } = first.body.result;
  expect(playbooks.length).toBeGreaterThan(0);
  for (const { playbook_id, version } of playbooks) {
    const url = `/api/v1/playbooks/${playbook_id}/versions/${version}`;
    const { body } = await tk.http.get(url).query({ investigationId: 'inv-1' }).expect(200);
    expect(body.shown_to_investigation).toMatchObject({ shown: true, times: 2 });
    const second = await tk.http.get(url).query({ investigationId: 'inv-2' }).expect(200);
    expect(second.body.shown_to_investigation).toMatchObject({ shown: true, times: 1 });
  }
  const never = await tk.http
    .get('/api/v1/playbooks/cluster-dns-repair/versions/1.4.0')
    .query({ investigationId: 'inv-1' });
  expect([never.status, never.body.shown_to_investigation?.shown]).toEqual([200, false]);
});

it('a disabled playbook is not shown from the cache', async () => {
  const ask = () => tk.call('get_playbooks', { query: 'CoreDNS SERVFAIL no such host' }).expect(200);
  const ids = async () =>
    (await ask()).body.result.playbooks.map((each: { playbook_id: string }) => each.playbook_id);
  expect(await ids()).toContain('cluster-dns-repair');
  await tk.http
    .patch('/api/v1/playbooks/cluster-dns-repair/1.4.0/disable')
    .send({ disabled_by: 'd', disabled_reason: 'r' })
    .expect(200);
  expect(await ids()).not.toContain('cluster-dns-repair');
});
