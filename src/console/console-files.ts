import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);

/** A file of the built console as HTTP carries it. */
export interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  /** The same by gzip, made when it is first asked for. */
  gzipped(): Promise<Buffer>;
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The built console, read once: a build that takes its place takes effect with the next start. */
export class ConsoleFiles {
  private readonly assets = new Map<string, ConsoleFile>();
  private readonly index: string | undefined;

  /** @param folder where the build stands; what is absent or half there counts as no build */
  constructor(folder: string) {
    try {
      this.index = readFileSync(join(folder, 'index.html'), 'utf8');
      for (const name of readdirSync(join(folder, 'assets')))
        this.assets.set(name, consoleFile(name, readFileSync(join(folder, 'assets', name))));
    } catch {
      this.index = undefined;
    }
  }

  asset(name: string): ConsoleFile | undefined {
    return this.assets.get(name);
  }

  /** @returns the page with this nonce at the places where a nonce belongs; undefined where there is no build */
  page(nonce: string): string | undefined {
    return this.index?.replaceAll('__NONCE__', nonce);
  }
}

function consoleFile(name: string, plain: Buffer): ConsoleFile {
  let gzipped: Promise<Buffer> | undefined;
  const type = types[extname(name)] ?? 'application/octet-stream';
  return { type, plain, gzipped: () => (gzipped ??= compress(plain, { level: 9 })) };
}
