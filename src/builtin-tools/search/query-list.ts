const bullet = /^\s*(?:[-*•]|\d{1,3}[.)])\s+(.*)$/;

/**
 * The queries in what a model wrote: one, or a list with bullets or numbers, of which a part in double quotes is what is
 * meant. What stands around such a list is talk.
 */
export function queriesIn(text: string): string[] {
  const items = text.split('\n').flatMap((line) => bullet.exec(line)?.[1] ?? []);
  const queries = items.length > 0 ? items.map((item) => /"([^"]+)"/.exec(item)?.[1] ?? item) : [text];
  const plain = queries.map((query) => query.replace(/\s+/g, ' ').trim());
  return [...new Set(plain.filter((query) => query !== ''))];
}
