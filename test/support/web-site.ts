import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A web server on loopback that answers as the test says, and remembers what it was asked. */
export class WebSite {
  readonly seen: SeenRequest[] = [];

  private constructor(private readonly server: Server) {}

  static async start(answer: RequestListener, host = '127.0.0.1', port = 0): Promise<WebSite> {
    const server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        site.seen.push({ method, url, headers, body });
        answer(request, response);
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

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
