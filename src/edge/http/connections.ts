import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { problemBody, securityHeaders } from '../../web/rest/problem.filter.js';

declare module 'node:net' {
  interface Socket {
    /** Requests without a complete answer. */
    openRequests?: number;
  }
}

/** Max requests of one connection without a complete answer. */
const maxOpen = 8;
/** Refused requests on a connection after which it is closed. */
const maxRefused = 8;

/** Counts a request on its connection; `requestEnded` MUST follow. @throws Problem `rate_limited` if too many wait there */
export function requestBegan(socket: Socket): void {
  const open = (socket.openRequests ?? 0) + 1;
  socket.openRequests = open;
  if (open > maxOpen + maxRefused) socket.destroy();
  if (open > maxOpen) throw tooMany;
}

/** Stops counting a request on its connection. */
export function requestEnded(socket: Socket): void {
  if (socket.openRequests) socket.openRequests--;
}

const tooMany = new Problem(
  'rate_limited',
  `More than ${maxOpen} requests wait on this connection for their answers: read the answers first, or open more connections.`,
  { headers: { connection: 'close' } },
);

/** Max connections, however many files the process may open. */
const maxConnections = 10_000;
/** Time without any read by the client after which an answer is abandoned. */
const unreadMs = 30_000;

/** Limits the connections of all clients together. Beyond the limit a new one replaces the oldest idle one. */
export function limitConnections(server: Server, max = connectionsFor(openFilesLimit())): void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    socket.openRequests = 0;
    if (sockets.size >= max) (oldestIdle(sockets) ?? socket).destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Only idle connections and unread answers time out, because a running call may be silent.
  server.setTimeout(unreadMs, (socket) => {
    if (!socket.openRequests || socket.writableLength > 0) socket.destroy();
  });
}

/** The connection without requests that was opened first. */
function oldestIdle(sockets: Iterable<Socket>): Socket | undefined {
  for (const socket of sockets) if (!socket.destroyed && !socket.openRequests) return socket;
  return undefined;
}

/** Answers bytes that are not a request, or that came too late, on the socket itself. */
export function refuseBytes(error: Error & { readonly code?: string }, socket: Socket): void {
  if (socket.destroyed || error.code === 'ECONNRESET') return;
  // While an answer is open, the client would take these bytes for a part of it.
  if (socket.writable && !socket.openRequests) socket.write(rawAnswer(error.code));
  socket.destroy(error);
}

/** Max connections for a limit of open files: half of them, the rest is for tools, database and journal. */
export const connectionsFor = (openFiles: number): number =>
  Math.max(1, Math.min(maxConnections, Math.floor(openFiles / 2)));

/** Max open files of this process; Infinity if unknown. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Answers to bytes that are not a request, by the code of the error. */
const answersByCode: Readonly<Record<string, readonly [status: number, reason: string, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request was not sent in time (60 s)'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The headers are longer than 16 KiB'],
};

/** A problem as the text of an HTTP answer. */
function rawAnswer(code = ''): string {
  const [status, reason, detail] = answersByCode[code] ?? [400, 'Bad Request', 'This is no HTTP request'];
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
