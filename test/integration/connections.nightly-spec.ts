import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { until } from '../support/wait.js';
import { limitConnections, requestBegan, requestEnded } from '../../src/edge/http/connections.js';

// real: HTTP over sockets; mock: what answers

it('an answer that is not read for half a minute is given up with its connection; a call that takes as long is not', async () => {
  const answers: string[] = [];
  const server = createServer(({ url = '', socket }, response) => {
    requestBegan(socket);
    response.on('close', () => {
      requestEnded(socket);
      answers.push(`${url} ${response.writableFinished}`);
    });
    if (url === '/large') response.end(Buffer.alloc(64 * 1_048_576));
    else setTimeout(() => response.end('late'), 100_000);
  });
  limitConnections(server, 10);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const ask = (path: string): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined).write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  };
  const [unread, waiting] = [ask('/large').pause(), ask('/late')];
  try {
    let text = '';
    waiting.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    await until(() => answers.length > 0, { timeoutMs: 95_000, what: 'the end of the answer' });
    expect(answers).toEqual(['/large false']);
    await until(() => text.endsWith('late'), { timeoutMs: 60_000, what: 'the late answer' });
  } finally {
    for (const socket of [unread, waiting]) socket.destroy();
    server.close();
  }
}, 200_000);
