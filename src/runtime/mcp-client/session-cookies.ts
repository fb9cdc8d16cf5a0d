import { parseCookie } from 'undici';

const maxCookies = 50;
const maxChars = 8_192;

interface Kept {
  readonly pair: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** Cookies of one session with one URL, such as those by which a balancer finds the session's node again. */
export class SessionCookies {
  /** By name, oldest first. */
  private readonly kept = new Map<string, Kept>();

  /** @param fixed the `Cookie` header of the registration, which stays in front */
  constructor(
    private readonly url: URL,
    private readonly fixed: string | undefined,
    private readonly now: () => number = Date.now,
  ) {}

  take(headers: string | string[] | undefined): void {
    for (const header of headers === undefined ? [] : [headers].flat()) this.takeOne(header);
  }

  /** The header of the next request; undefined if there is nothing to send. */
  header(): string | undefined {
    if (this.kept.size === 0) return this.fixed;
    const now = this.now();
    const valid = [...this.kept.values()].filter(({ until }) => until > now).map(({ pair }) => pair);
    return [this.fixed, ...valid].filter(Boolean).join('; ') || undefined;
  }

  private takeOne(header: string): void {
    const cookie = parseCookie(header);
    if (!cookie || cookie.name === '' || !this.isOurs(cookie)) return;
    const { name, value, maxAge, expires } = cookie;
    // The parser leaves out a negative Max-Age and knows an Expires that is no date; neither keeps a cookie.
    const age = /;\s*max-age\s*=\s*-\d/i.test(header) ? 0 : maxAge;
    const until = age === undefined ? Number(expires ?? Infinity) : this.now() + age * 1_000;
    this.kept.delete(name);
    if (!(until <= this.now())) this.kept.set(name, { pair: `${name}=${value}`, until: until || Infinity });
    while (this.kept.size > maxCookies || this.chars() > maxChars)
      this.kept.delete([...this.kept.keys()][0] ?? '');
  }

  private isOurs({
    domain,
    path = '/',
    secure,
  }: {
    domain?: string;
    path?: string;
    secure?: boolean;
  }): boolean {
    const { hostname, pathname, protocol } = this.url;
    const isOfHost = domain === undefined || `.${hostname}`.endsWith(`.${domain}`);
    const isOfPath = `${pathname}/`.startsWith(path.endsWith('/') ? path : `${path}/`);
    return isOfHost && isOfPath && (!secure || protocol === 'https:');
  }

  private chars(): number {
    return [...this.kept.values()].reduce((sum, { pair }) => sum + pair.length + 2, 0);
  }
}
