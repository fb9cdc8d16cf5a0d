import type { FastifyReply } from 'fastify';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);
const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i;

/** Whether a client accepts gzip. @param accepted its Accept-Encoding */
export const takesGzip = (accepted: string | string[] = ''): boolean => acceptsGzip.test(String(accepted));

/** A file that never changes: each answer sends the same buffer, compressed if the client accepts it. */
export class StaticFile {
  private gzipped: Promise<Buffer> | undefined;

  constructor(
    private readonly type: string,
    private readonly plain: Buffer,
  ) {}

  /** Answers with the file. @param accepted the request's Accept-Encoding */
  async send(accepted: string | undefined, reply: FastifyReply): Promise<void> {
    const zipped = takesGzip(accepted);
    void reply.headers({ 'content-type': this.type, vary: 'accept-encoding' });
    if (zipped) void reply.header('content-encoding', 'gzip');
    await reply.send(zipped ? await (this.gzipped ??= compress(this.plain, { level: 9 })) : this.plain);
  }
}
