import { setTimeout as pause } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { backOff } from '../../base/common/back-off.js';
import { messageOf } from '../../base/common/message-of.js';
import { patientFetch, type Session } from '../api.js';
import { LocalServer } from '../server/local-server.js';
import { LineFramer } from '../../runtime/process-pool/line-framer.js';
import { exit } from '../output.js';

type MessageId = string | number | null | undefined;

/** Members of a JSON-RPC message that the relay reads. */
interface Message {
  readonly id?: MessageId;
  readonly method?: string;
  readonly params?: {
    readonly name?: unknown;
    readonly uri?: unknown;
    readonly protocolVersion?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

/** A request to the server, without its key. */
interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Error codes of JSON-RPC. */
const parseError = -32700;
const internalError = -32603;
/** Member of `_meta` in which newer clients declare their protocol version with each request. */
const versionMeta = 'io.modelcontextprotocol/protocolVersion';
/** Pauses before the stream of notifications is opened again. */
const streamPauses = { firstMs: 200, maxMs: 10_000 };

/**
 * Relays MCP between a client's pipe and a server's Streamable HTTP. Lines are posted unchanged, answers are written as
 * lines. The relay keeps only the session id and the protocol version, for headers; so the server may be replaced meanwhile.
 */
export class Relay {
  /** The session id of the server. */
  private session: string | undefined;
  /** The agreed protocol version. */
  private version: string | undefined;
  /** Ends the stream of notifications. */
  private following: AbortController | undefined;

  constructor(
    private readonly server: Pick<LocalServer, 'address' | 'forget'>,
    private readonly write: (line: string) => void,
  ) {}

  /** Posts a line and writes its answers. Never rejects. */
  async relayLine(line: string): Promise<void> {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch (error) {
      return this.writeError(null, parseError, messageOf(error));
    }
    try {
      const answer = await this.post(line, message);
      await this.writeAnswer(answer, message.id);
      if (message.method === 'notifications/initialized') this.followAgain();
    } catch (error) {
      const isRequest = message.method !== undefined && message.id !== undefined;
      if (isRequest)
        this.writeError(message.id, internalError, `Toolkeeper did not answer: ${reasonOf(error)}`);
    }
  }

  /** Posts a message. The answer to `initialize` names the session. */
  private async post(line: string, message: Message): Promise<Response> {
    const answer = await this.send({ method: 'POST', headers: this.headersOf(message), body: line });
    if (message.method === 'initialize') this.session = answer.headers.get('mcp-session-id') ?? undefined;
    return answer;
  }

  /** Sends a request. If the server no longer listens, starts one and sends the request to it. */
  private async send({ headers, ...init }: HttpRequest): Promise<Response> {
    const attempt = async (): Promise<Response> => {
      const { url, key } = await this.server.address();
      const authorization = key !== undefined && { authorization: `Bearer ${key}` };
      return patientFetch(`${url}/mcp`, { ...init, headers: { ...headers, ...authorization } });
    };
    return attempt().catch((error: unknown) => {
      if (!wasRefused(error)) throw error;
      this.server.forget();
      return attempt();
    });
  }

  /** Headers that Streamable HTTP requires with a message. */
  private headersOf({ method, params }: Message): Record<string, string> {
    const declared = params?._meta?.[versionMeta];
    const declaredVersion = typeof declared === 'string' ? declared : undefined;
    // A new handshake has no agreed version yet.
    if (method === 'initialize' && typeof params?.protocolVersion === 'string') this.version = undefined;
    const version = declaredVersion ?? this.version;
    const name = params?.name ?? (method === 'resources/read' ? params?.uri : undefined);
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.session !== undefined && { 'mcp-session-id': this.session }),
      ...(version !== undefined && { 'mcp-protocol-version': version }),
      ...(declaredVersion !== undefined && method !== undefined && { 'mcp-method': method }),
      ...(declaredVersion !== undefined && typeof name === 'string' && { 'mcp-name': headerText(name) }),
    };
  }

  /**
   * Writes the messages of an answer.
   * @param requestId for refusals without an id, made before the body was read
   * @param signal closes the answer's stream
   */
  private async writeAnswer(answer: Response, requestId?: MessageId, signal?: AbortSignal): Promise<void> {
    const type = answer.headers.get('content-type') ?? '';
    if (type.startsWith('text/event-stream') && answer.body) {
      const events = answer.body
        .pipeThrough(new TextDecoderStream(), signal && { signal })
        .pipeThrough(new EventSourceParserStream());
      for await (const { data } of events) this.writeMessage(data, requestId);
      return;
    }
    const text = await answer.text();
    if (text.trim() !== '') this.writeMessage(text, requestId);
  }

  /** Writes a message as one line. */
  private writeMessage(text: string, requestId: MessageId): void {
    const message = JSON.parse(text) as Message & { result?: { protocolVersion?: string } };
    this.version = message.result?.protocolVersion ?? this.version;
    const lacksId = message.id === null && requestId !== undefined;
    // The original text if possible, because parsing changes large numbers.
    const isOneLine = !text.includes('\n');
    this.write(
      isOneLine && !lacksId ? text : JSON.stringify({ ...message, ...(lacksId && { id: requestId }) }),
    );
  }

  /** Relays the notifications of the latest handshake's session, and no longer those of an earlier one. */
  private followAgain(): void {
    this.following?.abort();
    this.following = new AbortController();
    void this.followNotifications(this.following.signal);
  }

  /** Relays the server's notifications, such as that its list of tools has changed, until the signal is aborted. */
  private async followNotifications(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const headers = { ...this.headersOf({}), accept: 'text/event-stream' };
        const answer = await this.send({ method: 'GET', headers });
        if (answer.ok) {
          failures = 0;
          await this.writeAnswer(answer, undefined, signal);
        }
      } catch {
        // The stream has broken and is opened again.
      }
      await pause(backOff(failures + 1, streamPauses));
    }
  }

  /** Writes an error of JSON-RPC. */
  private writeError(id: MessageId, code: number, message: string): void {
    this.write(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } }));
  }
}

/** A name as a header value: other characters than ASCII need base64. */
const headerText = (name: string): string =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;

/** Whether no server listened. The request was not sent, so it may be repeated. */
const wasRefused = (error: unknown): boolean =>
  ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED';

/** The cause of a failed request. */
function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  return cause instanceof Error ? cause.message : messageOf(error);
}

/** The server's limit for bodies. */
const maxLineBytes = 64 * 1_048_576;

/** Interval of checks whether the client still lives. */
const parentCheckMs = 500;

/**
 * Runs `toolkeeper mcp`: MCP over stdin and stdout, for clients that start their servers. The process exits when the
 * client closes stdin or dies. Its connections then close, and the server cancels the open calls.
 */
export function mcp({ surroundings }: Session): Promise<never> {
  const server = new LocalServer(surroundings);
  const relay = new Relay(server, (line) => process.stdout.write(`${line}\n`));
  const framer = new LineFramer(maxLineBytes, {
    line: (text) => {
      // A byte order mark counts as white space here.
      const line = text.trim();
      if (line !== '') void relay.relayLine(line);
      return true;
    },
    overflow: () => {
      process.stderr.write(`toolkeeper: A line is longer than ${maxLineBytes} bytes\n`);
      process.exit(exit.failed);
    },
  });
  // Starts in parallel to the client's handshake; a failure is reported with its first request.
  server
    .address()
    .catch((error: unknown) => process.stderr.write(`toolkeeper: ${(error as Error).message}\n`));
  for (const event of ['end', 'close', 'error']) process.stdin.on(event, () => process.exit());
  // The client's death does not close stdin if another process has inherited the pipe.
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit();
  }, parentCheckMs);
  process.stdin.on('data', (chunk: Buffer) => framer.push(chunk));
  return new Promise(() => undefined);
}
