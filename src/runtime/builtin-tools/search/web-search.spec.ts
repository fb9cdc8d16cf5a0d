import type { RequestListener } from 'node:http';
import { WebSite } from '../../../../test/support/web-site.js';
import { loadConfig } from '../../../base/config/app-config.js';
import { WebSearch } from './web-search.js';

/** real: HTTP; the answers are made in the shape of each provider's. */
describe('WebSearch', () => {
  const running: { stop?(): void; close?(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of running.splice(0)) {
      each.stop?.();
      await each.close?.();
    }
  });

  const over = async (
    provider: string,
    answer: RequestListener,
    secret = '',
  ): Promise<{ search: WebSearch; site: WebSite }> => {
    const site = await WebSite.start(answer);
    const url = `${provider}+${site.url.replace('http://', `http://${secret}`)}/base/`;
    const { search: settings } = loadConfig({ WEB_SEARCH_URL: url }).builtinTools;
    if (!settings) throw new Error('not understood');
    const search = new WebSearch(settings);
    running.push(site, search);
    return { search, site };
  };
  const saying =
    (body: unknown, status = 200): RequestListener =>
    (_request, response) => {
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    };

  it('asks SearXNG', async () => {
    const results = [
      { title: ' One ', url: 'https://one.example/', content: 'first', engine: 'x' },
      { title: 'No address', url: 'javascript:alert(1)', content: '' },
      { title: null, url: 'https://two.example/' },
      { title: 'Three', url: 'https://three.example/', content: 'third' },
    ];
    const { search, site } = await over('searxng', saying({ query: 'q', results }));
    expect(await search.search('disk & full', 2)).toEqual([
      { title: 'One', url: 'https://one.example/', snippet: 'first' },
      { title: '', url: 'https://two.example/', snippet: '' },
    ]);
    expect(site.seen[0]?.url).toBe('/base/search?q=disk+%26+full&format=json');
  });

  it('asks Brave, with its key', async () => {
    const results = [
      { title: 'A &amp; B', url: 'https://one.example/', description: 'is <strong>here</strong>' },
    ];
    const { search, site } = await over('brave', saying({ type: 'search', web: { results } }), ':k%C3%A9y@');
    expect(await search.search('oom', 20)).toEqual([
      { title: 'A & B', url: 'https://one.example/', snippet: 'is here' },
    ]);
    expect(site.seen[0]?.url).toBe('/base/res/v1/web/search?q=oom&count=20&text_decorations=false');
    expect(site.seen[0]?.headers).toMatchObject({ 'x-subscription-token': 'kéy' });
    const none = await over('brave', saying({ type: 'search' }), ':key@');
    expect(await none.search.search('oom', 20)).toEqual([]);
  });

  it.each([
    ['searxng', { results: [] }],
    ['brave', { web: { results: [] } }],
  ])('finds nothing with %s, and says so', async (provider, answer) => {
    const { search } = await over(provider, saying(answer), provider === 'brave' ? ':key@' : '');
    expect(await search.search('oom', 10)).toEqual([]);
  });

  it.each([
    ['searxng', '<html>format json is not allowed</html>', 'invalid_answer'],
    ['searxng', { results: 'none' }, 'invalid_answer'],
    ['searxng', { results: [null] }, 'invalid_answer'],
    ['brave', null, 'invalid_answer'],
    ['brave', { web: {} }, 'invalid_answer'],
  ])('takes from %s no %j', async (provider, answer, kind) => {
    const { search } = await over(provider, saying(answer), provider === 'brave' ? ':key@' : '');
    await expect(search.search('oom', 10)).rejects.toMatchObject({ kind });
  });
});
