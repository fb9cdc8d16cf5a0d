import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Called once the whole request has come. */
export type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** A web server on loopback that answers as the test says, and remembers what it was asked. */
export class WebSite {
  readonly seen: SeenRequest[] = [];

  private constructor(private readonly server: Server) {}

  static async start(answer: Answer, host = '127.0.0.1', port = 0): Promise<WebSite> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const { method = '', url = '', headers } = request;
        site.seen.push({ method, url, headers, body: body.toString() });
        answer(request, response, body);
      });
    });
    const site = new WebSite(server);
    await once(server.listen(port, host), 'listening');
    return site;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ends what is under way; the port is free then. */
  async stop(): Promise<void> {
    const ended = once(this.server.close(), 'close');
    this.server.closeAllConnections();
    await ended;
  }
}
