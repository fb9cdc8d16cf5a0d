import type { Json } from './json.js';
import { until } from './wait.js';

export interface UiCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  readonly deadline: string;
  readonly by: { readonly id: string; readonly name: string } | null;
}

type Key = { readonly authorization: string };

/** A page as a client of the server: what it shows is told, what it is asked is recorded. */
export class Tab {
  readonly calls: UiCall[] = [];
  readonly cancelled: string[] = [];
  grants: { id: string; name: string; status: string; until: string }[] = [];
  closed = 0;
  private stream = new AbortController();

  private constructor(
    readonly url: string,
    private readonly key: Key,
    readonly id: string,
  ) {}

  /** A session whose stream is open, with a page that offers these tools. */
  static async open(url: string, key: Key, offers: readonly string[]): Promise<Tab> {
    const tab = new Tab(url, key, await idOf(url, key));
    await tab.listen();
    expect(await tab.show('/', offers)).toBe(204);
    return tab;
  }

  /** The same tab at another server, or with another key. */
  at(url: string, key = this.key): Tab {
    return new Tab(url, key, this.id);
  }

  async listen(): Promise<number> {
    this.stream.abort();
    this.stream = new AbortController();
    const answer = await fetch(`${this.url}/api/v1/console/stream?topics=ui:${this.id}`, {
      headers: { ...this.key },
      signal: this.stream.signal,
    });
    if (answer.status === 200) void this.read(answer).catch(() => undefined);
    return answer.status;
  }

  leave(): void {
    this.stream.abort();
  }

  show(route: string, offers: readonly string[], context: object = {}): Promise<number> {
    return this.send('PUT', 'page', { route, offers, context });
  }

  answer(callId: string, result: unknown): Promise<number> {
    return this.send('POST', `answers/${callId}`, { ok: true, result });
  }

  send(method: string, path: string, body?: object): Promise<number> {
    return fetch(`${this.url}/api/v1/ui/sessions/${this.id}/${path}`, {
      method,
      headers: { ...this.key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    }).then(({ status }) => status);
  }

  /** The next call of a tool that it was asked. */
  asked(tool: string): Promise<UiCall> {
    return until(() => this.calls.find((call) => call.tool === tool), { what: `a call of ${tool}` });
  }

  private async read(answer: Response): Promise<void> {
    let text = '';
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) this.take(block);
    }
  }

  private take(block: string): void {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    const data = JSON.parse(field('data') ?? '{}');
    const event = field('event');
    // Each new stream begins with all that is open.
    if (event === 'ui.call' && !this.calls.some(({ callId }) => callId === data.callId))
      this.calls.push(data);
    if (event === 'ui.cancel') this.cancelled.push(data.callId);
    if (event === 'ui.grants') this.grants = data.grants;
    if (event === 'closed') this.closed += 1;
  }
}

async function idOf(url: string, key: Key): Promise<string> {
  const made = await fetch(`${url}/api/v1/ui/sessions`, { method: 'POST', headers: { ...key } });
  expect(made.status).toBe(201);
  return ((await made.json()) as { id: string }).id;
}
