import { Parser } from 'htmlparser2';
import { UpstreamFailure } from '../../outbound/upstream-failure.js';

export interface SearchRow {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** Text without its tags, and with its entities resolved. */
export function plainText(html: string): string {
  let text = '';
  new Parser({ ontext: (part) => (text += part) }).end(html);
  return text.replace(/\s+/g, ' ').trim();
}

/**
 * The rows of DuckDuckGo's page for browsers without scripts; advertisements are left out.
 * @throws UpstreamFailure if it asks for a human, or is another page
 */
export function duckDuckGoRows(html: string): SearchRow[] {
  const rows: { title: string; url: string; snippet: string }[] = [];
  let into: 'title' | 'snippet' | undefined;
  let isResultPage = false;
  const parser = new Parser({
    onopentag: (tag, attributes) => {
      const classes = (attributes['class'] ?? '').split(/\s+/);
      if (classes.some((name) => name.startsWith('anomaly')))
        throw new UpstreamFailure('rate_limited', 'it asks whether we are human');
      isResultPage ||= classes.includes('results') || classes.includes('no-results');
      if (tag !== 'a') return;
      if (classes.includes('result__a')) {
        rows.push({ title: '', url: target(attributes['href'] ?? ''), snippet: '' });
        into = 'title';
      } else if (classes.includes('result__snippet')) into = 'snippet';
    },
    ontext: (text) => {
      const row = rows.at(-1);
      if (into && row) row[into] += text;
    },
    onclosetag: (tag) => {
      if (tag === 'a') into = undefined;
    },
  });
  parser.end(html);
  if (!isResultPage && rows.length === 0)
    throw new UpstreamFailure('invalid_answer', 'the answer is no page of results');
  return rows.filter(({ url }) => url !== '');
}

/** Links lead over a page that counts them; those of advertisements lead to another one. */
function target(href: string): string {
  const url = URL.parse(href, 'https://duckduckgo.com');
  if (!url) return '';
  const wrapped = url.pathname === '/l/' ? url.searchParams.get('uddg') : null;
  if (wrapped !== null) return wrapped;
  return url.hostname.endsWith('duckduckgo.com') ? '' : url.href;
}
