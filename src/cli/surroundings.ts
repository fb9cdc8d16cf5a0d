import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { projectRoot } from '../base/common/project.js';
import { runningServer } from '../base/common/server-file.js';

/** The server of a command, and the key for it. */
export interface ServerAddress {
  readonly url: string;
  readonly key: string | undefined;
}

/** Environment, folders and server of a command. No other file of the command line reads `process.env`. */
export class Surroundings {
  readonly environment: NodeJS.ProcessEnv = process.env;
  readonly root = projectRoot();
  /** Absolute. Below the home directory for an npm package, because npm may remove its folder; else in the project. */
  readonly dataDir: string;
  /** URL by option or environment; undefined: the server of the data directory. */
  readonly url: string | undefined;

  constructor({ url }: { readonly url?: string | undefined }) {
    const isInstalled = this.root.split(sep).includes('node_modules');
    const folder = this.environment['TOOLKEEPER_DATA_DIR'];
    this.dataDir = folder
      ? resolve(this.root, folder)
      : join(isInstalled ? homedir() : this.root, '.toolkeeper');
    this.url = url ?? (this.environment['TOOLKEEPER_URL'] || undefined);
  }

  /** The server to use. The data directory's key is sent to its own server only, because any program may listen on a port. */
  server(): ServerAddress {
    const running = runningServer(this.dataDir);
    const url = this.url ?? running?.url ?? `http://127.0.0.1:${this.environment['PORT'] || '3000'}`;
    const localKey = running && isSameServer(url, running.url) ? this.adminKey() : undefined;
    return { url: url.replace(/\/+$/, ''), key: this.environment['TOOLKEEPER_KEY'] || localKey };
  }

  /** The admin key of the data directory's server. */
  private adminKey(): string | undefined {
    const configured = this.environment['ADMIN_API_KEY'];
    if (configured) return configured;
    try {
      return readFileSync(join(this.dataDir, 'admin.key'), 'utf8').trim();
    } catch {
      return undefined;
    }
  }
}

/** Whether two URLs name one server; all names of loopback are equal. */
function isSameServer(one: string, other: string): boolean {
  const [a, b] = [URL.parse(one), URL.parse(other)];
  const host = (url: URL): string => url.host.replace(/^(localhost|\[::1\])/, '127.0.0.1');
  return a !== null && b !== null && a.protocol === b.protocol && host(a) === host(b);
}
