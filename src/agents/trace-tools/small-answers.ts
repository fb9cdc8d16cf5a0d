const head = 1_200;
const tail = 600;

/** Characters shown before and after a place in the middle of a text. */
const around = { before: 100, after: 200 };

/**
 * The beginning and the end of a text, as long as answers show them.
 * @param share of that length
 * @param place in the text that is shown as well; negative: none
 */
export function excerptOf(text: string, share = 1, place = -1): string {
  const [first, last] = [Math.floor(head * share), Math.floor(tail * share)];
  const [from, to] = [place - around.before, place + around.after];
  if (place < 0 || to <= first || from >= text.length - last) return endsOf(text, first, last);
  return endsOf(text.slice(0, to), first, to - Math.max(first, from)) + endsOf(text.slice(to), 0, last);
}

/** The start and end of a text, with the number of characters omitted between them. */
export function endsOf(text: string, first: number, last: number): string {
  const left = text.length - first - last;
  if (left <= 0) return text;
  const [begin, end] = [text.slice(0, first), last > 0 ? text.slice(-last) : ''];
  return `${begin} […${left} characters cut…] ${end}`.toWellFormed();
}

/** Members whose JSON is longer than an excerpt become one. */
export function excerptsOf(
  attributes: Readonly<Record<string, unknown>>,
  share: number,
): Record<string, unknown> {
  const short = (value: unknown): unknown => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.length > (head + tail) * share ? excerptOf(text, share) : value;
  };
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, short(value)]));
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** The first of the forms that is small enough, else the last one, without the ends of its lists. */
export function fitted<T extends object>(
  forms: readonly number[],
  make: (share: number) => T,
  most: number,
): T {
  let made = make(forms[0] ?? 1);
  for (const share of forms.slice(1)) {
    if (bytesOf(made) <= most) return made;
    made = make(share);
  }
  return withinBytes(made, most);
}

/** Takes entries from the end of whichever list is the longest until the answer is small enough. */
export function withinBytes<T extends object>(answer: T, most: number): T {
  let bytes = bytesOf(answer);
  if (bytes <= most) return answer;
  const lists = Object.entries(answer)
    .filter((member): member is [string, unknown[]] => Array.isArray(member[1]))
    .map(([name, list]) => ({ name, list: [...list], bytes: bytesOf(list) }));
  while (bytes > most) {
    const longest = lists.reduce((a, b) => (b.bytes > a.bytes ? b : a), {
      name: '',
      list: [] as unknown[],
      bytes: 0,
    });
    if (longest.list.length === 0) break;
    const gone = bytesOf(longest.list.pop()) + 1;
    longest.bytes -= gone;
    bytes -= gone;
  }
  return { ...answer, ...Object.fromEntries(lists.map(({ name, list }) => [name, list])) };
}
