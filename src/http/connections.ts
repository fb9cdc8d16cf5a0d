import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../common/errors.js';
import { newId, requestIdOf } from '../common/ids.js';
import { securityHeaders } from '../common/security-headers.js';
import { problemBody, ProblemFilter } from '../common/problem.filter.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Connection {
  readonly socket: Socket;
  /** There was no slot for it: only probes are answered on it. */
  readonly isSurplus: boolean;
  /** Requests without an answer. */
  open: number;
  /** Those that came before the one ahead of them was answered. */
  readonly waiting: (() => void)[];
  /** Requests that came after one too many; they are not looked at. */
  ignored: number;
  /** Its client has let an answer wait, and is given a last while to read on. */
  isUnread: boolean;
}

/** Requests of one connection without an answer. */
const mostOpen = 32;
/** The most requests that a connection which is about to close may still send: then it is cut off. */
const mostIgnored = 256;
/** Connections above the others, so that probes are answered while all slots are taken. */
const surplus = 32;
const mostConnections = 10_000;
const unreadMs = 30_000;
const unreadCheckMs = 10_000;
const probes = new Set(['/livez', '/readyz', '/startupz']);

/**
 * Bounds what one client, and all of them together, make this server keep: a slot for each connection, the one answer
 * that is under way on it, and the requests that wait behind that one.
 */
export class Connections {
  private readonly all = new Map<Socket, Connection>();
  /** Without a request under way; first the one that has been so for longest. */
  private readonly idle = new Set<Connection>();
  private readonly problems = new ProblemFilter();

  constructor(private readonly most = connectionsFor(openFilesLimit())) {}

  /** A server whose requests reach `handler` one at a time for each connection. */
  createServer(options: ServerOptions, handler: Handler): Server {
    const server = createServer(options, (request, response) => this.take(request, response, handler));
    server.maxConnections = this.most + surplus;
    server.on('connection', (socket) => this.open(socket));
    const timer = setInterval(() => this.findUnread(), unreadCheckMs).unref();
    return server.on('close', () => clearInterval(timer));
  }

  /** Refuses bytes that are no request, or that came too late: the answer goes to the socket itself. */
  refuse(error: Error & { readonly code?: string }, socket: Socket): void {
    if (socket.destroyed || error.code === 'ECONNRESET') return;
    // In the middle of another answer these bytes would be taken for a part of it.
    if (socket.writable && !this.all.get(socket)?.open) socket.write(rawAnswer(error.code));
    socket.destroy(error);
  }

  private open(socket: Socket): void {
    const isSurplus = this.all.size >= this.most && !this.letIdleGo();
    const connection: Connection = { socket, isSurplus, open: 0, waiting: [], ignored: 0, isUnread: false };
    this.all.set(socket, connection);
    this.idle.add(connection);
    socket.once('close', () => this.forget(connection));
  }

  private take(request: IncomingMessage, response: ServerResponse, handler: Handler): void {
    const connection = this.all.get(request.socket);
    if (!connection) return void response.destroy();
    if (connection.open > mostOpen) {
      if (++connection.ignored > mostIgnored) connection.socket.destroy();
      return;
    }
    const position = ++connection.open;
    this.idle.delete(connection);
    response.once('close', () => this.answered(connection));
    const isRefused = connection.isSurplus && !probes.has((request.url ?? '').replace(/\/$/, ''));
    const begin = (): void =>
      isRefused ? this.answer(request, response, noSlot(this.most)) : handler(request, response);
    if (position > mostOpen) this.answer(request, response, tooMany);
    else if (position > 1) connection.waiting.push(begin);
    else begin();
  }

  private answered(connection: Connection): void {
    connection.open--;
    if (connection.socket.destroyed) return;
    const next = connection.waiting.shift();
    if (next) next();
    else if (connection.open === 0) this.idle.add(connection);
  }

  /** The last answer on its connection. */
  private answer(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
    const id = requestIdOf(request);
    const { status, headers, body } = this.problems.answer(problem, id);
    const length = { 'content-length': Buffer.byteLength(body), connection: 'close' };
    response.writeHead(status, { ...headers, ...length, 'x-request-id': id }).end(body);
  }

  /** @returns false where every connection has a request under way */
  private letIdleGo(): boolean {
    const [longest] = this.idle;
    if (!longest) return false;
    this.forget(longest);
    longest.socket.destroy();
    return true;
  }

  private forget(connection: Connection): void {
    this.all.delete(connection.socket);
    this.idle.delete(connection);
    connection.waiting.length = 0;
  }

  /** A client that does not read its answer holds it, and its slot: after a while without a byte it loses both. */
  private findUnread(): void {
    for (const connection of this.all.values()) {
      const { socket, open } = connection;
      const isUnread = open > 0 && socket.writableLength > 0;
      if (isUnread === connection.isUnread) continue;
      connection.isUnread = isUnread;
      // Node itself has set the time of an idle connection.
      if (open > 0) socket.setTimeout(isUnread ? unreadMs : 0);
    }
  }
}

const tooMany = new Problem(
  'rate_limited',
  `More than ${mostOpen} requests wait on this connection for their answers: read the answers first, or open more connections.`,
);

const noSlot = (most: number): Problem =>
  new Problem(
    'rate_limited',
    `${most} connections are open, as many as the limit of open files (ulimit -n) leaves room for, and each has a request under way.`,
    { status: 503, retryAfterMs: 1_000 },
  );

/** Half of the open files are left to tools, database and journal. */
export const connectionsFor = (openFiles: number): number =>
  Math.max(1, Math.min(mostConnections, Math.floor(openFiles / 2)));

/** How many files this process may have open; without end where the system does not tell. */
function openFilesLimit(): number {
  try {
    return Number(
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity,
    );
  } catch {
    return Infinity;
  }
}

const statusOfCode: Readonly<Record<string, readonly [status: number, reason: string, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request was not sent in time (60 s)'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The headers are longer than 16 KiB'],
};

function rawAnswer(code = ''): string {
  const [status, reason, detail] = statusOfCode[code] ?? [400, 'Bad Request', 'This is no HTTP request'];
  const id = newId();
  const body = JSON.stringify(problemBody(new Problem('invalid_request', detail, { status }), id));
  return [
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
