/** Characters of an excerpt's beginning and end. */
const head = 1_200;
const tail = 600;

/** Characters shown before and after a place in the middle of a text, such as an error. */
const around = { before: 100, after: 200 };

/**
 * The beginning and the end of a text, with the number of characters omitted between them.
 * @param share of the usual length of beginning and end
 * @param place index in the text whose surroundings are shown as well; negative: none
 */
export function excerptOf(text: string, share = 1, place = -1): string {
  const first = Math.floor(head * share);
  const last = Math.floor(tail * share);
  const from = place - around.before;
  const to = place + around.after;
  if (place < 0 || to <= first || from >= text.length - last) return endsOf(text, first, last);
  const beginningAndPlace = endsOf(text.slice(0, to), first, to - Math.max(first, from));
  const end = endsOf(text.slice(to), 0, last);
  return beginningAndPlace + end;
}

/** The first and last characters of a text, with the number of characters omitted between them. */
export function endsOf(text: string, first: number, last: number): string {
  const omitted = text.length - first - last;
  if (omitted <= 0) return text;
  const end = text.slice(text.length - last);
  return `${text.slice(0, first)} […${omitted} characters cut…] ${end}`.toWellFormed();
}

/** The attributes; values whose JSON is longer than an excerpt are replaced by one. */
export function excerptsOf(
  attributes: Readonly<Record<string, unknown>>,
  share: number,
): Record<string, unknown> {
  const shortened = (value: unknown): unknown => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.length > (head + tail) * share ? excerptOf(text, share) : value;
  };
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, shortened(value)]));
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/**
 * Makes an answer with ever shorter excerpts until it is small enough. The last one, if too large, loses the ends of its
 * lists.
 * @param shares lengths of the excerpts, longest first
 */
export function fitted<T extends object>(
  shares: readonly number[],
  make: (share: number) => T,
  limitBytes: number,
): T {
  const [longest = 1, ...shorter] = shares;
  let answer = make(longest);
  for (const share of shorter) {
    if (bytesOf(answer) <= limitBytes) return answer;
    answer = make(share);
  }
  return withinBytes(answer, limitBytes);
}

/** Removes entries from the end of the answer's largest list, again and again until the answer is small enough. */
export function withinBytes<T extends object>(answer: T, limitBytes: number): T {
  let bytes = bytesOf(answer);
  if (bytes <= limitBytes) return answer;
  const lists = Object.entries(answer)
    .filter((member): member is [string, unknown[]] => Array.isArray(member[1]))
    .map(([name, list]) => ({ name, list: [...list], bytes: bytesOf(list) }));
  while (bytes > limitBytes) {
    const [largest] = lists.toSorted((a, b) => b.bytes - a.bytes);
    if (largest === undefined || largest.list.length === 0) break;
    // With the comma after it.
    const removedBytes = bytesOf(largest.list.pop()) + 1;
    largest.bytes -= removedBytes;
    bytes -= removedBytes;
  }
  return { ...answer, ...Object.fromEntries(lists.map(({ name, list }) => [name, list])) };
}
