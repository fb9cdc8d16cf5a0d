import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { builtinToolNames } from '../../src/base/config/builtin-settings.js';
import { until } from '../support/wait.js';
import { startApp, type TestApp } from '../support/app.js';
import { MailBox } from '../support/mail-box.js';
import { pdfOf } from '../support/pdf.js';
import { makeTestFolder } from '../support/test-folder.js';
import { WebSite } from '../support/web-site.js';

const secret = 'a secret of some length';
const noTool = { type: 'tool_error', code: -32602 };

interface Outcome {
  readonly status: string;
  readonly executionId: string;
  readonly result: Record<string, unknown>;
  readonly error: { readonly type: string; readonly code: number; readonly message: string };
}

/** real: the server, PostgreSQL, and on loopback the web, a search engine, a mail server and a receiver of webhooks. */
describe('built-in tools', () => {
  const files = makeTestFolder();
  let tk: TestApp;
  let site: WebSite;
  let mail: MailBox;
  /** Statuses of the next webhooks; 200 when there is none left. */
  const statuses: number[] = [];

  beforeAll(async () => {
    site = await WebSite.start(({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://site');
      const html = { 'content-type': 'text/html; charset=utf-8' };
      if (pathname === '/page')
        response.writeHead(200, html).end('<title>T</title><main>Hello <b>you</b></main>');
      else if (pathname === '/trouble') response.writeHead(200, html).end('error: connection refused');
      else if (pathname === '/moved') response.writeHead(301, { location: '/page' }).end();
      else if (pathname === '/inner')
        response.writeHead(302, { location: 'http://[::ffff:127.0.0.1]/' }).end();
      else if (pathname === '/doc') response.end(pdfOf(['Runbook text']));
      else if (pathname === '/json')
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}');
      else if (pathname === '/image') response.writeHead(200, { 'content-type': 'image/png' }).end('x');
      else if (pathname === '/large') {
        const body = gzipSync(Buffer.alloc(6_000_000));
        response.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end(body);
      } else if (pathname === '/down') response.writeHead(500).end();
      else if (pathname === '/search') {
        const query = searchParams.get('q') ?? '';
        const row = {
          title: `About ${query}`,
          url: `https://example.com/${query}`,
          content: 'text',
          engine: 'e',
        };
        const all = { title: 'All', url: 'https://example.com/all', content: '' };
        const results = query === 'nothing' ? [] : [row, all];
        response.writeHead(query === 'broken' ? 500 : 200).end(JSON.stringify({ query, results }));
      } else if (pathname === '/hook') {
        const status = statuses.shift() ?? 200;
        response.writeHead(status, { 'retry-after': '0' }).end('{"taken":true}');
      } else response.writeHead(404).end();
    });
    mail = await MailBox.start();
    tk = await startApp({
      BUILTIN_TOOLS: builtinToolNames.join(),
      FILES_DIR: files,
      WEB_SEARCH_URL: `searxng+${site.url}`,
      SMTP_URL: `smtp://127.0.0.1:${mail.port}?from=agent@example.com`,
      SEND_WEBHOOK_SECRET: secret,
      OUTBOUND_ALLOW: `127.0.0.1:${site.port}`,
      INVESTIGATION_CALLS_PER_TOOL: '0',
    });
  }, 120_000);
  afterAll(async () => {
    await tk.close();
    await site.stop();
    await mail.stop();
    rmSync(files, { recursive: true, force: true });
  });

  const run = async (tool: string, input: object, project = 'default'): Promise<Outcome> => {
    const { body } = await tk
      .call(tool, input as Record<string, unknown>)
      .set('x-project-id', project)
      .expect(200);
    return body as Outcome;
  };
  const resultOf = async (tool: string, input: object, project?: string): Promise<Outcome['result']> => {
    const outcome = await run(tool, input, project);
    if (outcome.status !== 'success') throw new Error(JSON.stringify(outcome));
    return outcome.result;
  };
  const errorOf = async (tool: string, input: object, project?: string): Promise<Outcome['error']> =>
    (await run(tool, input, project)).error;

  describe('fetchPage', () => {
    it('reads HTML, PDF and text, wherever they have moved', async () => {
      expect(await resultOf('fetchPage', { url: `${site.url}/moved` })).toEqual({
        url: `${site.url}/page`,
        title: 'T',
        content: 'Hello you',
        contentLength: 9,
        truncated: false,
        contentType: 'text/html',
      });
      expect(await resultOf('fetchPage', { url: `${site.url}/doc` })).toMatchObject({
        content: 'Runbook text',
      });
      expect(await resultOf('fetchPage', { url: `${site.url}/json` })).toMatchObject({ content: '{"a":1}' });
    });

    it.each([
      ['/inner', noTool, /Tools may not connect to ::ffff:7f00:1 here: ipv4Mapped address/],
      ['/image', noTool, /The page is image\/png: HTML, PDF and text can be read/],
      ['/large', noTool, /larger than 5 MiB/],
      ['/none', noTool, /answered 404 Not Found/],
      ['/down', { type: 'upstream_unavailable' }, /answered 500/],
    ])('says of %s what is wrong', async (path, error, message) => {
      const found = await errorOf('fetchPage', { url: `${site.url}${path}` });
      expect(found).toMatchObject(error);
      expect(found.message).toMatch(message);
    });

    it('takes no error in a page for one of its own', async () => {
      const { executionId, result } = await run('fetchPage', { url: `${site.url}/trouble` });
      expect(result).toMatchObject({ content: 'error: connection refused' });
      const path = `/api/v1/tool-metrics/executions/${executionId}`;
      await until(async () => (await tk.http.get(path)).status === 200, {
        what: 'the execution to be recorded',
      });
      const { body } = await tk.http.get(path);
      expect(body).toMatchObject({ status: 'success' });
      expect(body).not.toHaveProperty('metadata.semanticError');
    });

    it('never asks this server itself', async () => {
      expect((await errorOf('fetchPage', { url: `${tk.url}/api/v1/tools` })).message).toContain(
        'this server itself',
      );
    });

    it('loses no circuit over what its callers ask for', async () => {
      const { body } = await tk.http.get('/api/v1/tool-health/fetchPage/circuit').expect(200);
      expect(body).toMatchObject({ state: 'closed', faultsInWindow: 0 });
    });
  });

  it('fetchURLs reads rows of webSearch, and says which page it could not read', async () => {
    const urls = [`${site.url}/page`, { title: 'x', link: `${site.url}/none` }, { href: `${site.url}/json` }];
    const pages = (await resultOf('fetchURLs', { urls })) as unknown as object[];
    expect(pages).toMatchObject([
      { content: 'Hello you' },
      { url: `${site.url}/none`, error: expect.stringContaining('404') as string },
      { content: '{"a":1}' },
    ]);
    expect((await errorOf('fetchURLs', { urls: [`${site.url}/none`] })).message).toContain('404');
    expect(await errorOf('fetchURLs', { urls: [site.url, { link: 3 }] })).toMatchObject({
      ...noTool,
      message: expect.stringContaining('urls[1] holds no URL') as string,
    });
  });

  describe('webSearch', () => {
    it('answers rows of all queries, each once', async () => {
      const query = 'Let me look for:\n- "disk full" in logs\n2. oom';
      expect(await resultOf('webSearch', { query, limit: 5 })).toEqual([
        { title: 'About disk full', url: 'https://example.com/disk full', snippet: 'text' },
        { title: 'All', url: 'https://example.com/all', snippet: '' },
        { title: 'About oom', url: 'https://example.com/oom', snippet: 'text' },
      ]);
    });

    it('invents nothing', async () => {
      expect(await resultOf('webSearch', { query: 'nothing' })).toEqual([]);
      expect(await errorOf('webSearch', { query: 'broken' })).toMatchObject({ type: 'upstream_unavailable' });
    });
  });

  describe('files', () => {
    it('are written, continued and read, by characters and by bytes', async () => {
      const path = 'reports/ä/disk.md';
      const written = await resultOf('writeFile', { path, content: 'größe: 😀' });
      expect(written).toEqual({
        path,
        fullPath: join(files, 'default', path),
        bytesWritten: 13,
        mode: 'overwrite',
      });
      expect(readFileSync(join(files, 'default', path), 'utf8')).toBe('größe: 😀');
      await resultOf('writeFile', { path, content: '!', mode: 'append' });
      expect(await resultOf('readFile', { path })).toEqual({
        path,
        content: 'größe: 😀!',
        size: 14,
        truncated: false,
      });
      expect(await resultOf('readFile', { path, maxLength: 8 })).toEqual({
        path,
        content: 'größe: ',
        size: 14,
        truncated: true,
      });
      await resultOf('writeFile', { path, content: 'short' });
      expect(await resultOf('readFile', { path })).toMatchObject({ content: 'short', size: 5 });
    });

    it('belong to a project', async () => {
      await resultOf('writeFile', { path: 'own.txt', content: 'theirs' }, '../default');
      expect((await errorOf('readFile', { path: 'own.txt' })).message).toContain('there is no such file');
      expect(await resultOf('readFile', { path: 'own.txt' }, '../default')).toMatchObject({
        content: 'theirs',
      });
    });

    it('are the only ones: nothing leads out, and nothing but a regular file is opened', async () => {
      const base = join(files, 'default');
      mkdirSync(join(base, 'deep'), { recursive: true });
      writeFileSync(join(files, 'outside.txt'), 'outside');
      symlinkSync(join(files, 'outside.txt'), join(base, 'link.txt'));
      symlinkSync(files, join(base, 'deep', 'up'));
      linkSync(join(files, 'outside.txt'), join(base, 'second-name.txt'));
      execFileSync('mkfifo', [join(base, 'pipe')]);
      symlinkSync('/dev/zero', join(base, 'zero'));
      const paths = [
        '/etc/passwd',
        '../outside.txt',
        'deep/../../outside.txt',
        'link.txt',
        'deep/up/outside.txt',
        'second-name.txt',
        'pipe',
        'zero',
        'deep',
        'deep/',
        'a\0b',
      ];
      for (const path of paths) {
        expect([path, await errorOf('readFile', { path })]).toMatchObject([path, noTool]);
        expect([path, await errorOf('writeFile', { path, content: 'x' })]).toMatchObject([path, noTool]);
      }
      expect(readFileSync(join(files, 'outside.txt'), 'utf8')).toBe('outside');
      expect((await errorOf('readFile', { path: 'link.txt' })).message).toContain('over a link');
    });

    it('that are no text are told as such', async () => {
      writeFileSync(join(files, 'default', 'binary'), Buffer.from([0xff, 0xfe, 0]));
      expect((await errorOf('readFile', { path: 'binary' })).message).toBe('binary is no text in UTF-8');
    });
  });

  describe('sendWebhook', () => {
    const send = (changes: object = {}): Promise<Outcome> =>
      run('sendWebhook', { url: `${site.url}/hook`, payload: { text: 'wörld' }, ...changes });

    it('sends what its receiver can check', async () => {
      site.seen.length = 0;
      const { executionId, result } = await send({
        headers: { 'X-Team': 'ops', Accept: 'text/plain', 'User-Agent': 'mine' },
      });
      expect(result).toEqual({
        url: `${site.url}/hook`,
        status: 200,
        statusText: 'OK',
        success: true,
        response: { taken: true },
      });
      const { headers = {}, body } = site.seen[0] ?? {};
      expect(body).toBe('{"text":"wörld"}');
      expect(headers).toMatchObject({
        'x-team': 'ops',
        'user-agent': 'mine',
        accept: 'application/json, text/*;q=0.9, */*;q=0.5',
        'webhook-id': executionId,
        'idempotency-key': executionId,
      });
      const signed = `${executionId}.${String(headers['webhook-timestamp'])}.${body}`;
      const expected = createHmac('sha256', secret).update(signed).digest('base64');
      expect(headers['webhook-signature']).toBe(`v1,${expected}`);
    });

    it('sends again what was turned away, under the same id, and nothing else', async () => {
      site.seen.length = 0;
      statuses.push(503, 429);
      const { result, executionId } = await send();
      expect(result).toMatchObject({ status: 200, success: true });
      expect(site.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(3).fill(executionId));
      site.seen.length = 0;
      statuses.push(500);
      expect((await send()).result).toMatchObject({ status: 500, success: false, response: { taken: true } });
      expect(site.seen).toHaveLength(1);
    });

    it('sets its own headers, goes nowhere else, and follows no redirect', async () => {
      for (const name of ['Webhook-Id', 'host', 'Content-Length', 'transfer-encoding', 'idempotency-key']) {
        expect((await send({ headers: { [name]: '1' } })).error).toMatchObject(noTool);
      }
      expect((await send({ url: 'http://10.0.0.1/' })).error.message).toContain('private address');
      expect((await send({ url: `${site.url}/inner` })).result).toMatchObject({
        status: 302,
        success: false,
      });
      const { body } = await tk
        .call('sendWebhook', { url: site.url, payload: {}, headers: { 'x-a': 'b\r\nx: y' } })
        .expect(422);
      expect(body).toMatchObject({ errors: [{ pointer: '/input/headers/x-a' }] });
    });
  });

  describe('sendEmail', () => {
    const letter = { to: 'ada@example.com', subject: 'Störung', body: 'The disk is full.' };

    it('hands a mail with attachments to the mail server', async () => {
      await resultOf('writeFile', { path: 'mail/report.txt', content: 'from a file' });
      const attachments = [
        { path: 'mail/report.txt' },
        {
          filename: 'raw.bin',
          content: 'AAECAw==',
          encoding: 'base64',
          contentType: 'application/octet-stream',
        },
      ];
      const input = {
        ...letter,
        cc: ['bob@example.com'],
        bcc: 'eve@example.com, mo@example.com',
        attachments,
      };
      const sent = await resultOf('sendEmail', input);
      expect(sent).toMatchObject({
        success: true,
        to: letter.to,
        subject: letter.subject,
        attachmentCount: 2,
      });
      const [{ from, to, text } = { from: '', to: [''], text: '' }] = mail.received.splice(0);
      expect(from).toBe('agent@example.com');
      expect(to).toEqual(['ada@example.com', 'bob@example.com', 'eve@example.com', 'mo@example.com']);
      expect(text).toContain(`Message-ID: ${String(sent['messageId'])}`);
      expect(text).toContain(Buffer.from('from a file').toString('base64'));
      expect(text).toContain('AAECAw==');
      expect(text).not.toContain('eve@');
    });

    it.each([
      ['a line break in the subject', { subject: 'a\r\nBcc: eve@example.com' }],
      ['a line break in the name of a file', { attachments: [{ filename: 'a\nb', content: '' }] }],
      ['an attachment without a name', { attachments: [{ content: 'x' }] }],
    ])('does not take %s', async (_what, changes) => {
      await tk.call('sendEmail', { ...letter, ...changes }).expect(422);
    });

    it.each([
      ['a header in an address', { to: 'a@b.c\nBcc: eve@example.com' }, 'is no plain email address'],
      [
        'a name beside an address',
        { cc: ['Ada <ada@example.com>'] },
        'cc: "Ada <ada@example.com>" is no plain',
      ],
      ['nobody', { to: ' , ' }, 'to names nobody'],
      ['a crowd', { bcc: Array.from({ length: 50 }, (_each, n) => `n${n}@example.com`) }, '50 recipients'],
      ['a file outside', { attachments: [{ path: '../outside.txt' }] }, 'leads out of the files'],
      [
        'broken base64',
        { attachments: [{ filename: 'a', content: '$', encoding: 'base64' }] },
        'is no base64',
      ],
    ])('does not send to or with %s', async (_what, changes, why) => {
      expect((await errorOf('sendEmail', { ...letter, ...changes })).message).toContain(why);
      expect(mail.received).toEqual([]);
    });

    it('says what the mail server says', async () => {
      expect(await errorOf('sendEmail', { ...letter, to: 'nobody@example.com' })).toMatchObject({
        ...noTool,
        message: expect.stringContaining('550') as string,
      });
      const some = await resultOf('sendEmail', { ...letter, to: ['nobody@example.com', 'ada@example.com'] });
      expect(some).toMatchObject({ rejected: ['nobody@example.com'] });
      await until(() => mail.received.length === 1, { what: 'the mail to the other' });
    });
  });

  it('say what a call may do to the world', async () => {
    const { body } = await tk.http.get('/api/v1/tools?limit=100').expect(200);
    const { data } = body as unknown as { data: { name: string; annotations: Record<string, boolean> }[] };
    const hintsOf = (name: string): string =>
      Object.entries(data.find((tool) => tool.name === name)?.annotations ?? {})
        .filter(([, is]) => is)
        .map(([hint]) => hint)
        .sort()
        .join();
    expect(builtinToolNames.map((name) => [name, hintsOf(name)])).toEqual([
      ['webSearch', 'idempotent,openWorld,readOnly'],
      ['fetchPage', 'idempotent,openWorld,readOnly'],
      ['fetchURLs', 'idempotent,openWorld,readOnly'],
      ['readFile', 'idempotent,readOnly'],
      ['writeFile', 'destructive'],
      ['sendWebhook', 'destructive,openWorld'],
      ['sendEmail', 'openWorld'],
    ]);
  });
});
