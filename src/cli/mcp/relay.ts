import { setTimeout as pause } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { backOff } from '../../base/common/back-off.js';
import { messageOf } from '../../base/common/message-of.js';
import { patientFetch, type Session } from '../api.js';
import { LocalServer } from '../server/local-server.js';
import { LineFramer } from '../../runtime/process-pool/line-framer.js';
import { exit } from '../output.js';

/** A message of JSON-RPC, as far as the relay looks into it. */
interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: {
    readonly name?: unknown;
    readonly uri?: unknown;
    readonly protocolVersion?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const parseError = -32700;
const internalError = -32603;
const versionMeta = 'io.modelcontextprotocol/protocolVersion';
const streamPauses = { firstMs: 200, maxMs: 10_000 };

/**
 * MCP between a client's pipe and a server's Streamable HTTP: each line is posted as it is, and what is answered is
 * written as lines. Nothing is kept but what HTTP asks for in headers, so that the server may be another one meanwhile.
 */
export class Relay {
  private session: string | undefined;
  private version: string | undefined;

  constructor(
    private readonly server: Pick<LocalServer, 'address' | 'lost'>,
    private readonly write: (line: string) => void,
  ) {}

  async take(line: string): Promise<void> {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch (error) {
      return this.fail(null, parseError, messageOf(error));
    }
    try {
      const answer = await this.post(line, message);
      await this.passOn(answer, message.id);
      if (message.method === 'notifications/initialized') void this.follow();
    } catch (error) {
      const isRequest = message.method !== undefined && message.id !== undefined;
      if (isRequest) this.fail(message.id, internalError, `Toolkeeper did not answer: ${reasonOf(error)}`);
    }
  }

  private async post(line: string, message: Message): Promise<Response> {
    const answer = await this.send({ method: 'POST', headers: this.headersOf(message), body: line });
    if (message.method === 'initialize') this.session = answer.headers.get('mcp-session-id') ?? undefined;
    return answer;
  }

  /** Sends a message. If no server listened, one is started and gets it. */
  private async send({ headers, ...init }: Sent): Promise<Response> {
    const attempt = async (): Promise<Response> => {
      const { url, key } = await this.server.address();
      const shown = { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
      return patientFetch(`${url}/mcp`, { ...init, headers: shown });
    };
    return attempt().catch((error: unknown) => {
      if (!wasRefused(error)) throw error;
      this.server.lost();
      return attempt();
    });
  }

  /** Headers that Streamable HTTP requires beside a message. */
  private headersOf({ method, params }: Message): Record<string, string> {
    const stated = params?._meta?.[versionMeta];
    const modern = typeof stated === 'string' ? stated : undefined;
    if (method === 'initialize' && typeof params?.protocolVersion === 'string') this.version = undefined;
    const version = modern ?? this.version;
    const name = params?.name ?? (method === 'resources/read' ? params?.uri : undefined);
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.session !== undefined && { 'mcp-session-id': this.session }),
      ...(version !== undefined && { 'mcp-protocol-version': version }),
      ...(modern !== undefined && method !== undefined && { 'mcp-method': method }),
      ...(modern !== undefined && typeof name === 'string' && { 'mcp-name': headerText(name) }),
    };
  }

  /** @param asked the request's id: what refuses it before it is read does not know that */
  private async passOn(answer: Response, asked?: Message['id']): Promise<void> {
    const type = answer.headers.get('content-type') ?? '';
    if (type.startsWith('text/event-stream') && answer.body) {
      const events = answer.body
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream());
      for await (const { data } of events) this.writeMessage(data, asked);
      return;
    }
    const text = await answer.text();
    if (text.trim() !== '') this.writeMessage(text, asked);
  }

  /** A message is one line, however it was written. */
  private writeMessage(text: string, asked: Message['id']): void {
    const message = JSON.parse(text) as Message & { result?: { protocolVersion?: string } };
    this.version = message.result?.protocolVersion ?? this.version;
    const lacksId = message.id === null && asked !== undefined;
    // Passed on unparsed if possible: numbers may be larger than JavaScript's.
    const isReady = !lacksId && !text.includes('\n');
    this.write(isReady ? text : JSON.stringify({ ...message, ...(lacksId && { id: asked }) }));
  }

  /** Follows the server's notifications, such as that its list of tools has changed. */
  private async follow(): Promise<never> {
    for (let failures = 0; ; failures++) {
      try {
        const headers = { ...this.headersOf({}), accept: 'text/event-stream' };
        const answer = await this.send({ method: 'GET', headers });
        if (answer.ok) {
          failures = 0;
          await this.passOn(answer);
        }
      } catch {
        // The stream broke, and is opened again.
      }
      await pause(backOff(failures + 1, streamPauses));
    }
  }

  private fail(id: Message['id'], code: number, message: string): void {
    this.write(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } }));
  }
}

/** A header holds ASCII alone: other names go in base64. */
const headerText = (name: string): string =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;

/** Whether nothing was sent, because no server listened. */
const wasRefused = (error: unknown): boolean =>
  ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED';

function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  return cause instanceof Error ? cause.message : messageOf(error);
}

/** The server's own limit of a body. */
const maxLineBytes = 64 * 1_048_576;

const lookForParentMs = 500;

/**
 * MCP over stdin and stdout, for clients that start their servers. The process exits when the client closes stdin or
 * dies: the system then closes all connections, and the server cancels what the client still waited for.
 */
export function mcp({ surroundings }: Session): Promise<never> {
  const server = new LocalServer(surroundings);
  const relay = new Relay(server, (line) => process.stdout.write(`${line}\n`));
  const framer = new LineFramer(maxLineBytes, {
    line: (text) => {
      // A byte order mark counts as white space here.
      const line = text.trim();
      if (line !== '') void relay.take(line);
      return true;
    },
    overflow: () => process.exit(exit.no),
  });
  // Starts in parallel to the client's handshake; a failure is reported with its first request.
  server
    .address()
    .catch((error: unknown) => process.stderr.write(`toolkeeper: ${(error as Error).message}\n`));
  for (const event of ['end', 'close', 'error']) process.stdin.on(event, () => process.exit());
  // The client's death does not close stdin if another process has inherited the pipe.
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.exit(), lookForParentMs);
  process.stdin.on('data', (chunk: Buffer) => framer.push(chunk));
  return new Promise(() => undefined);
}
