import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { supertest } from './http.js';

// real: HTTP; mock: nothing

describe('an expectation of another status', () => {
  let server: Server;
  beforeAll(async () => {
    server = createServer((_request, response) => response.writeHead(400).end('{"detail":"that is why"}'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => server.close());

  it('fails with what the server answered', async () => {
    const http = supertest(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const failed = await http
      .get('/')
      .expect(200)
      .then(String, (error: Error) => error);
    const told = 'expected 200 "OK", got 400 "Bad Request": {"detail":"that is why"}';
    expect(failed).toMatchObject({ message: told, stack: expect.stringContaining(told) });
  });
});
