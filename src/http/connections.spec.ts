import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { until } from '../../test/support/wait.js';
import { Connections, connectionsFor } from './connections.js';

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

describe('Connections', () => {
  let server: Server;
  const clients: Client[] = [];
  /** Requests that are under way. */
  const held: ServerResponse[] = [];
  const begun: string[] = [];

  async function serve(most: number): Promise<void> {
    const handler = ({ url = '' }: IncomingMessage, response: ServerResponse): void => {
      begun.push(url);
      if (url.startsWith('/hold')) held.push(response);
      else response.end(url);
    };
    const connections = new Connections(most);
    server = connections.createServer({}, handler);
    server.on('clientError', (error, socket) => connections.refuse(error, socket as Socket));
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
    it('has one request under way: the next begins when its answer is out', async () => {
      await serve(10);
      const one = await client();
      one.ask('/hold/1', '/2', '/hold/3', '/4');
      await until(() => held.length === 1, { what: 'the first request' });
      expect(begun).toEqual(['/hold/1']);
      answerAll();
      await until(() => held.length === 1, { what: 'the third request' });
      expect(begun).toEqual(['/hold/1', '/2', '/hold/3']);
      answerAll();
      await one.answered(4);
      expect([begun, one.statuses]).toEqual([
        ['/hold/1', '/2', '/hold/3', '/4'],
        [200, 200, 200, 200],
      ]);
      one.ask('/5');
      await one.answered(5);
    });

    it('may have 32 without an answer; one more gets 429 behind them, and closes it', async () => {
      await serve(10);
      const one = await client();
      one.ask('/hold', ...Array.from({ length: 31 }, () => '/x'));
      await until(() => held.length === 1, { what: 'the first request' });
      answerAll();
      await one.answered(32);
      expect(new Set(one.statuses)).toEqual(new Set([200]));
      one.ask('/hold', ...Array.from({ length: 41 }, () => '/x'));
      await until(() => held.length === 1, { what: 'the next one' });
      answerAll();
      await one.gone();
      expect(one.statuses.slice(32)).toEqual([...Array<number>(32).fill(200), 429]);
      expect(one.text).toMatch(
        /content-type: application\/problem\+json[^]*32 requests[^]*"code":"rate_limited"/,
      );
      expect(begun).toHaveLength(64);
    });

    it('is cut where its client sends on and on', async () => {
      await serve(10);
      const one = await client();
      one.ask('/hold', ...Array.from({ length: 2_000 }, () => '/x'));
      await one.gone();
      expect(begun).toEqual(['/hold']);
    });

    it('that closes takes the requests that wait along', async () => {
      await serve(10);
      const one = await client();
      one.ask('/hold', '/never');
      await until(() => held.length === 1, { what: 'the first request' });
      one.socket.destroy();
      await once(held[0] as ServerResponse, 'close');
      const other = await client();
      other.ask('/other');
      await other.answered(1);
      expect(begun).toEqual(['/hold', '/other']);
    });
  });

  describe('all connections', () => {
    const probe = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n';

    it('of more than there is place for, those without a request go, first the one that was so for longest', async () => {
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

    it('that are all busy leave none for another, which is told so; a probe is answered', async () => {
      await serve(2);
      const busy = [await client(), await client()];
      for (const each of busy) each.ask('/hold');
      await until(() => held.length === 2, { what: 'both requests' });
      const refused = await client();
      refused.ask('/x');
      await refused.gone();
      expect(refused.statuses).toEqual([503]);
      expect(refused.text).toMatch(/retry-after: 1\r\n[^]*"status":503[^]*ulimit -n/);
      const probing = await client();
      probing.ask('/livez');
      await probing.answered(1);
      expect([probing.statuses, begun]).toEqual([[200], ['/hold', '/hold', '/livez']]);
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
