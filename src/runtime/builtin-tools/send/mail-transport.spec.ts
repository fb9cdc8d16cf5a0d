import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { ToolFailure } from '../../../web/contract/tool-outcome.js';
import { MailTransport } from './send-email.tool.js';

/** A mail server's answers to each command; `ends`: none, the connection ends; `waits`: none at all. */
type Answers = Readonly<Record<string, string>>;
const polite: Answers = {
  EHLO: '250-mail\r\n250 AUTH PLAIN',
  AUTH: '235 ok',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go on',
  '.': '250 ok',
  QUIT: '221 bye',
};

/** real: SMTP over a connection; its server says what the test wants. */
describe('MailTransport', () => {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const server of servers.splice(0)) server.close();
  });

  async function failureWith(
    changes: Answers,
    timeoutMs = 20_000,
    signal?: AbortSignal,
  ): Promise<ToolFailure> {
    const answers = { ...polite, ...changes };
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      if (answers['greeting'] !== 'waits') socket.write('220 mail\r\n');
      let isData = false;
      socket.setEncoding('utf8').on('data', (text: string) => {
        const command = isData ? '.' : text.slice(0, 4);
        if (isData && !text.endsWith('\r\n.\r\n')) return;
        isData = command === 'DATA';
        const said = answers[command] ?? answers[command.trim()] ?? '500 what?';
        if (said === 'ends') socket.destroy();
        else if (said !== 'waits') socket.write(`${said}\r\n`);
      });
    });
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    return send(port, timeoutMs, signal);
  }

  const send = (
    port: number,
    timeoutMs = 20_000,
    signal = new AbortController().signal,
  ): Promise<ToolFailure> =>
    new MailTransport(
      { host: '127.0.0.1', port, secure: false, auth: { user: 'u', pass: 'p' }, from: 'agent@example.com' },
      timeoutMs,
    )
      .send({ to: ['a@example.com'], cc: [], bcc: [], subject: 's', text: 't', attachments: [] }, signal)
      .then(
        () => {
          throw new Error('it was sent');
        },
        (error: ToolFailure) => error,
      );

  it.each<[string, Answers, string, RegExp]>([
    ['refuses the login', { AUTH: '535 no' }, 'upstream_unavailable', /refuses the login.*nothing was sent/],
    ['is gone', { '.': 'ends' }, 'upstream_unavailable', /may have been sent/],
    ['refuses a recipient', { RCPT: '550 nobody' }, 'tool_error', /refuses the mail: .*550 nobody/],
    ['refuses the content', { '.': '554 spam' }, 'tool_error', /refuses the mail: .*554 spam/],
    [
      'wants to be asked later',
      { '.': '451 later' },
      'upstream_unavailable',
      /puts the mail off: .*451 later/,
    ],
  ])('says that the mail server %s', async (_what, answers, type, message) => {
    const failure = await failureWith(answers);
    expect([failure.type, failure.isToolFault]).toEqual([type, false]);
    expect(failure.message).toMatch(message);
  });

  it('waits no longer than it may', async () => {
    expect((await failureWith({ greeting: 'waits' }, 100)).message).toMatch(
      /cannot be reached .*nothing was sent/,
    );
    expect((await failureWith({ '.': 'waits' }, 100)).message).toMatch(/may have been sent/);
  });

  it('says that there is no mail server', async () => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    expect((await send(port)).message).toMatch(/cannot be reached \(ECONNREFUSED\): nothing was sent/);
  });

  it('leaves with its caller', async () => {
    const caller = new AbortController();
    const sent = failureWith({ MAIL: 'waits' }, 20_000, caller.signal);
    setImmediate(() => caller.abort());
    expect((await sent).type).toBe('upstream_unavailable');
  });
});
