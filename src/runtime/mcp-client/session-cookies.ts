import { parseCookie } from 'undici';

/** Max characters of the pairs in a header. */
const maxChars = 8_192;

/** Cookies of one session with one URL, such as those for a load balancer's sticky sessions. */
export class SessionCookies {
  /** Pairs by name, oldest first. */
  private readonly pairs = new Map<string, string>();

  /** @param fixed the `Cookie` header of the registration, which is sent first */
  constructor(
    private readonly url: URL,
    private readonly fixed: string | undefined,
  ) {}

  /** Stores the cookies of an answer. @param headers its `Set-Cookie` headers */
  store(headers: string | string[] = []): void {
    for (const header of [headers].flat()) this.storeOne(header);
  }

  /** The header of the next request; undefined if there is nothing to send. */
  header(): string | undefined {
    return [this.fixed, ...this.pairs.values()].filter(Boolean).join('; ') || undefined;
  }

  private storeOne(header: string): void {
    const cookie = parseCookie(header);
    if (!cookie?.name || (cookie.secure && this.url.protocol !== 'https:')) return;
    const { name, value, maxAge, expires } = cookie;
    // The parser ignores a negative Max-Age.
    const isExpired =
      /;\s*max-age\s*=\s*-\d/i.test(header) || (maxAge ?? (Number(expires) <= Date.now() ? 0 : 1)) === 0;
    this.pairs.delete(name);
    if (!isExpired) this.pairs.set(name, `${name}=${value}`);
    // Drops the oldest.
    while ([...this.pairs.values()].join('; ').length > maxChars)
      this.pairs.delete([...this.pairs.keys()][0] ?? '');
  }
}
