import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

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

  private constructor(private readonly server: Server) {}

  static async start(): Promise<EmbeddingsServer> {
    const server = createServer();
    const endpoint = new EmbeddingsServer(server);
    server.on('request', (request, reply) => void endpoint.answer(request, reply));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  private async answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const { input } = JSON.parse(await text(request)) as { input: string[] };
    if (this.hangs) return;
    const { rejects } = this;
    if (rejects !== undefined && input.some((each) => each.includes(rejects)))
      return void reply.writeHead(413).end('{}');
    if (this.failsAfter-- <= 0) return void reply.writeHead(400).end('{}');
    this.embedded.push(...input);
    const data = input.map((each, index) => ({ object: 'embedding', index, embedding: vectorOf(each) }));
    reply.end(JSON.stringify({ object: 'list', data }));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
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
