import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app.js';

// real: the server and the built console, over HTTP; mock: nothing (what a browser makes of it: test/browser)

let tk: TestApp;
beforeAll(async () => {
  tk = await startApp({ ADMIN_API_KEY: 'a-key-of-enough-length' });
});
afterAll(() => tk.close());

const browse = (path: string) => tk.anonymous.get(path).set('accept', 'text/html,*/*;q=0.8');
const assetsOf = (page: string): string[] =>
  [...page.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path);

describe('the console', () => {
  it('is one page at every address below /console/, for whoever has a key or not', async () => {
    for (const path of [
      '/console',
      '/console/',
      '/console/tools/disk_usage/activity',
      '/console/no/such/place',
    ])
      expect((await browse(path).expect(200).expect('cache-control', 'no-store')).text).toContain(
        'id="root"',
      );
  });

  it('lets nothing in but its own scripts and styles, and one style element by a nonce that is never the same', async () => {
    const nonces = [];
    for (const _ of [1, 2]) {
      const { text, headers } = await browse('/console/').expect(200);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      const [, nonce = ''] = /'nonce-([^']+)'/.exec(policy) ?? [];
      expect(text).toContain(`nonce="${nonce}"`);
      expect(text).not.toMatch(/__NONCE__|<style|style="|<script(?![^>]*\ssrc=)/);
      nonces.push(nonce);
    }
    expect(new Set(nonces).size).toBe(2);
  });

  it('brings its own fonts', async () => {
    const files = assetsOf((await browse('/console/')).text).filter((path) => path.endsWith('.css'));
    const styles = await Promise.all(
      files.map(async (path) => (await tk.anonymous.get(path).expect(200)).text),
    );
    const fonts = [...styles.join('').matchAll(/url\(\.\/([^)]+\.woff2)\)/g)].map(
      ([, name = '']) => `/console/assets/${name}`,
    );
    expect(fonts).toHaveLength(2);
    for (const font of fonts) await tk.anonymous.get(font).expect(200).expect('content-type', 'font/woff2');
  });

  it('has files that may be kept for ever, and says so of none that is not there', async () => {
    const [script = ''] = assetsOf((await browse('/console/')).text).filter((path) => path.endsWith('.js'));
    const { headers } = await tk.anonymous.get(script).set('accept-encoding', 'gzip').expect(200);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'gzip',
      'content-type': 'text/javascript; charset=utf-8',
    });
    await tk.anonymous
      .get(script)
      .set('accept-encoding', 'identity')
      .expect(200)
      .expect('vary', 'accept-encoding');
    const { body } = await browse('/console/assets/other.js').expect(404);
    expect(body.code).toBe('not_found');
  });

  it('is nothing for API clients: what they ask for in vain stays a problem', async () => {
    const { body } = await tk.http.get('/console/tools').set('accept', 'application/json').expect(404);
    expect(body).toMatchObject({ code: 'not_found', status: 404 });
    await tk.http.get('/api/v1/nothing').set('accept', 'text/html').expect(404);
    await tk.http.post('/console/tools').send({}).expect(405);
  });
});

describe('its size', () => {
  const folder = join(__dirname, '..', '..', 'console', 'dist');
  const kilobytes = (path: string): number => gzipSync(readFileSync(path), { level: 9 }).length / 1_000;
  const sum = (paths: readonly string[]): number =>
    paths.reduce((total, path) => total + kilobytes(join(folder, path.replace('/console/', ''))), 0);

  /** What the browser loads before the overview is drawn. */
  function initialScripts(): string[] {
    interface Chunk {
      readonly file: string;
      readonly imports?: readonly string[];
    }
    const manifest = JSON.parse(readFileSync(join(folder, '.vite', 'manifest.json'), 'utf8')) as Record<
      string,
      Chunk
    >;
    const found = new Set<string>();
    const visit = (name: string): void => {
      const chunk = manifest[name];
      if (!chunk || found.has(chunk.file)) return;
      found.add(chunk.file);
      chunk.imports?.forEach(visit);
    };
    visit('index.html');
    visit('src/features/overview/overview-page.tsx');
    return [...found];
  }

  it('stays within 170 kB of script for the first screen, 150 kB for any other part, and 15 kB of style in all', () => {
    const files = readdirSync(join(folder, 'assets')).map((name) => `assets/${name}`);
    expect(initialScripts().length).toBeGreaterThan(1);
    expect(sum(initialScripts())).toBeLessThan(170);
    for (const file of files.filter((name) => name.endsWith('.js')))
      expect([file, sum([file]) < 150]).toEqual([file, true]);
    expect(sum(files.filter((name) => name.endsWith('.css')))).toBeLessThan(15);
  });
});
