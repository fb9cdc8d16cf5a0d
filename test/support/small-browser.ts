/** A browser: it keeps cookies by name, and goes from page to page. */
export class SmallBrowser {
  private readonly cookies = new Map<string, string>();

  private readonly resolved: (address: string) => string;

  /** @param resolved where an address is reached, behind a proxy for example */
  constructor(resolved = (address: string): string => address) {
    this.resolved = resolved;
  }

  /** @param site what the browser says about the page from which it goes */
  async open(url: string, site = 'none'): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { cookie, 'sec-fetch-site': site };
    const answer = await fetch(this.resolved(url), { redirect: 'manual', headers });
    for (const each of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  /** Clicks on the page of a link. */
  async go(link: string): Promise<Response> {
    const page = await this.open(link);
    const text = await page.text();
    if (page.status !== 200) throw new Error(`${page.status} ${text}`);
    const [, href = ''] = /href="([^"]*)"/.exec(text) ?? [];
    return this.open(new URL(href.replaceAll('&#38;', '&'), link).href, 'same-origin');
  }

  /** Goes on from the page of a link, up to the address to which the authorization server sends it back. */
  async consent(link: string): Promise<string> {
    const go = await this.go(link);
    if (go.status !== 302) throw new Error(`${go.status} ${await go.text()}`);
    return (await this.open(go.headers.get('location') ?? '', 'cross-site')).headers.get('location') ?? '';
  }

  async signIn(link: string): Promise<Response> {
    return this.open(await this.consent(link), 'cross-site');
  }
}
