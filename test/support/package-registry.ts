import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { archiveOf } from './bundle.js';
import { WebSite } from './web-site.js';

const wheelOf = `
import sys, zipfile
path, name, version, source = sys.argv[1:]
info = f'{name}-{version}.dist-info/'
with zipfile.ZipFile(path, 'w') as wheel:
    wheel.writestr(f'{name}.py', source)
    wheel.writestr(info + 'METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;

/** A registry of npm, and an index of pip, on loopback. */
export class PackageRegistry {
  private readonly files = new Map<string, Buffer>();

  private constructor(private readonly site: WebSite) {}

  static async start(): Promise<PackageRegistry> {
    const site = await WebSite.start(({ url = '' }, response) => {
      const file = registry.files.get(url);
      response
        .writeHead(file ? 200 : 404, url.endsWith('/') ? { 'content-type': 'text/html' } : {})
        .end(file);
    });
    const registry = new PackageRegistry(site);
    return registry;
  }

  get url(): string {
    return this.site.url;
  }

  /** Paths that were asked for. */
  get asked(): string[] {
    return this.site.seen.map(({ url }) => url);
  }

  /** @returns how a lock names it */
  addToNpm(
    name: string,
    files: Readonly<Record<string, string>>,
    manifest: { readonly dependencies?: object; readonly scripts?: object } = {},
  ): object {
    const own = { name, version: '1.0.0', main: 'index.js', ...manifest };
    const tarball = archiveOf(
      Object.entries({ 'package.json': JSON.stringify(own), ...files }).map(([path, content]) => ({
        path: `package/${path}`,
        content,
      })),
    );
    const path = `/${name}/-/${name}-1.0.0.tgz`;
    this.files.set(path, tarball);
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    // The lock was written where the registry had another name.
    return { version: '1.0.0', resolved: `http://registry.invalid${path}`, integrity, ...manifest };
  }

  addToPip(name: string, source: string): void {
    const folder = mkdtempSync(join(tmpdir(), 'wheel-'));
    const wheel = `${name}-1.0.0-py3-none-any.whl`;
    execFileSync('python3', ['-c', wheelOf, join(folder, wheel), name, '1.0.0', source]);
    this.files.set(`/files/${wheel}`, readFileSync(join(folder, wheel)));
    this.files.set(`/simple/${name}/`, Buffer.from(`<a href="/files/${wheel}">${wheel}</a>`));
    rmSync(folder, { recursive: true });
  }

  close(): Promise<void> {
    return this.site.stop();
  }
}
