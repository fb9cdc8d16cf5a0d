import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { WebSite } from './web-site.js';

/** Words that mean the same. */
const meanings: Readonly<Record<string, string>> = { titles: 'names', understood: 'resolved' };
const dimensions = 64;

/** An OpenAI-compatible endpoint on loopback: shared words, or words of one meaning, make vectors near. */
export class EmbeddingsServer {
  /** Texts that were answered. */
  readonly embedded: string[] = [];
  hangs = false;
  /** Requests that are answered before it fails with 400, which nobody repeats. */
  failsAfter = Infinity;

  /** A word for which it rejects whatever holds it. */
  rejects: string | undefined;

  private constructor(private readonly site: WebSite) {}

  static async start(): Promise<EmbeddingsServer> {
    const site = await WebSite.start((_request, reply, body) => endpoint.answer(body, reply));
    const endpoint = new EmbeddingsServer(site);
    return endpoint;
  }

  get url(): string {
    return `${this.site.url}/v1`;
  }

  private answer(body: Buffer, reply: ServerResponse): void {
    const { input } = JSON.parse(body.toString()) as { input: string[] };
    if (this.hangs) return;
    const { rejects } = this;
    if (rejects !== undefined && input.some((each) => each.includes(rejects)))
      return void reply.writeHead(413).end('{}');
    if (this.failsAfter-- <= 0) return void reply.writeHead(400).end('{}');
    this.embedded.push(...input);
    const data = input.map((each, index) => ({ object: 'embedding', index, embedding: vectorOf(each) }));
    reply.end(JSON.stringify({ object: 'list', data }));
  }

  close(): Promise<void> {
    return this.site.stop();
  }
}

function vectorOf(sentence: string): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of sentence.toLowerCase().split(/\W+/).filter(Boolean))
    vector[
      (createHash('sha256')
        .update(meanings[word] ?? word)
        .digest()[0] ?? 0) % dimensions
    ] = 1;
  return vector;
}
