import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { until } from '../../../test/support/wait.js';
import { type Problem } from '../../base/common/errors.js';
import { connectionsFor, limitConnections, refuseBytes, requestBegan, requestEnded } from './connections.js';

// real: HTTP over sockets; mock: what answers

/** A client that speaks bytes. */
class Client {
  text = '';
  closed = false;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (chunk: string) => (this.text += chunk));
    socket.on('error', () => undefined).on('close', () => (this.closed = true));
  }

  static async to(server: Server): Promise<Client> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return new Client(socket);
  }

  ask(...paths: string[]): void {
    this.socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  }

  answered(count: number): Promise<unknown> {
    return until(() => this.statuses.length >= count, { what: `${count} answers` });
  }

  gone(): Promise<unknown> {
    return until(() => this.closed, { what: 'the end of the connection' });
  }
}

describe('connections', () => {
  let server: Server;
  const clients: Client[] = [];
  /** Requests that are under way. */
  const held: ServerResponse[] = [];
  const begun: string[] = [];

  async function serve(max: number): Promise<void> {
    const handler = ({ url = '', socket }: IncomingMessage, response: ServerResponse): void => {
      response.on('close', () => requestEnded(socket));
      try {
        requestBegan(socket);
      } catch (error) {
        const { detail, details } = error as Problem;
        return void response.writeHead(429, details.headers).end(detail);
      }
      begun.push(url);
      if (url.startsWith('/hold')) held.push(response);
      else response.end(url);
    };
    server = createServer(handler);
    limitConnections(server, max);
    server.on('clientError', (error, socket) => refuseBytes(error, socket as Socket));
    await once(server.listen(0, '127.0.0.1'), 'listening');
  }
  const client = async (): Promise<Client> => {
    const one = await Client.to(server);
    clients.push(one);
    return one;
  };
  const answerAll = (): void => held.splice(0).forEach((response) => void response.end('held'));

  afterEach(async () => {
    for (const { socket } of clients.splice(0)) socket.destroy();
    answerAll();
    begun.length = 0;
    await new Promise((resolve) => server.close(resolve));
  });

  describe('one connection', () => {
    it('may have eight requests without an answer; one more gets 429 behind them, and ends it', async () => {
      await serve(10);
      const one = await client();
      one.ask(...Array.from({ length: 8 }, () => '/hold'));
      await until(() => held.length === 8, { what: 'all requests' });
      answerAll();
      await one.answered(8);
      one.ask(...Array.from({ length: 9 }, () => '/hold'));
      await until(() => held.length === 8, { what: 'the requests that may wait' });
      answerAll();
      await one.gone();
      expect(one.statuses).toEqual([...Array<number>(16).fill(200), 429]);
      expect(one.text).toMatch(/connection: close\r\n[^]*8 requests/i);
    });

    it('is cut if its client sends on and on', async () => {
      await serve(10);
      const one = await client();
      one.ask(...Array.from({ length: 2_000 }, () => '/hold'));
      await one.gone();
      expect(begun).toHaveLength(8);
    });
  });

  describe('all connections', () => {
    const probe = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n';

    it('above the maximum: the oldest without a request goes', async () => {
      await serve(3);
      const [silent, halfSent, polite] = [await client(), await client(), await client()];
      halfSent.socket.write(probe);
      polite.ask('/1');
      await polite.answered(1);
      const fourth = await client();
      await silent.gone();
      fourth.ask('/2');
      await fourth.answered(1);
      const fifth = await client();
      await halfSent.gone();
      fifth.ask('/3');
      await fifth.answered(1);
      expect([polite.closed, fourth.closed]).toEqual([false, false]);
    });

    it('that are all busy leave no room for another, and keep their own', async () => {
      await serve(2);
      const busy = [await client(), await client()];
      for (const each of busy) each.ask('/hold');
      await until(() => held.length === 2, { what: 'both requests' });
      const surplus = await client();
      await surplus.gone();
      answerAll();
      for (const each of busy) await each.answered(1);
      const later = await client();
      later.ask('/later');
      await later.answered(1);
      expect(later.statuses).toEqual([200]);
    });

    it.each([
      [256, 128],
      [1_024, 512],
      [1_048_576, 10_000],
      [Infinity, 10_000],
      [1, 1],
    ])('with %i open files: %i', (files, most) => expect(connectionsFor(files)).toBe(most));
  });

  describe('bytes that are no request', () => {
    it.each([
      ['nonsense', 'hello\r\n\r\n', 400],
      ['too much of a head', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    ])('%s: get a problem', async (_what, bytes, status) => {
      await serve(10);
      const one = await client();
      one.socket.write(bytes);
      await one.gone();
      expect(one.statuses).toEqual([status]);
      const [head = '', body = ''] = one.text.split('\r\n\r\n');
      expect(head).toContain('content-type: application/problem+json');
      expect(JSON.parse(body)).toMatchObject({
        code: 'invalid_request',
        status,
        requestId: expect.any(String),
      });
    });

    it('behind a request that is under way close the connection without a word', async () => {
      await serve(10);
      const one = await client();
      one.ask('/hold');
      one.socket.write('hello\r\n\r\n');
      await one.gone();
      expect(one.text).toBe('');
    });
  });
});
