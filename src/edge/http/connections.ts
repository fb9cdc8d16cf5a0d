import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { problemBody, securityHeaders } from '../../web/rest/problem.filter.js';

const maxConnections = 10_000;
/** An answer of which the client reads nothing for this long is given up. */
const unreadMs = 30_000;

/** Bounds the connections of all clients together: for a new one the oldest without a request goes. */
export function limitConnections(server: Server, max = connectionsFor(openFilesLimit())): void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    socket.openRequests = 0;
    if (sockets.size >= max) (oldestIdle(sockets) ?? socket).destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // A call may be silent for as long as it runs: only an idle connection, or an unread answer, ends by the timeout.
  server.setTimeout(unreadMs, (socket) => {
    if (!socket.openRequests || socket.writableLength > 0) socket.destroy();
  });
}

function oldestIdle(sockets: Iterable<Socket>): Socket | undefined {
  for (const socket of sockets) if (!socket.destroyed && !socket.openRequests) return socket;
  return undefined;
}

/** Answers bytes that are no request, or that came too late, on the socket itself. */
export function refuseBytes(error: Error & { readonly code?: string }, socket: Socket): void {
  if (socket.destroyed || error.code === 'ECONNRESET') return;
  // A client would take these bytes for a part of an answer under way.
  if (socket.writable && !socket.openRequests) socket.write(rawAnswer(error.code));
  socket.destroy(error);
}

/** Half of the open files are left to tools, database and journal. */
export const connectionsFor = (openFiles: number): number =>
  Math.max(1, Math.min(maxConnections, Math.floor(openFiles / 2)));

/** Maximum open files of this process; Infinity if unknown. */
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
