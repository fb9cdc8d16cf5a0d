import { Controller, Get, Headers, Inject, Module, Param, Redirect, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { randomBytes } from 'node:crypto';
import { extname, join } from 'node:path';
import { readdirSync, readFileSync } from 'node:fs';
import { Public } from '../../web/auth/scopes.decorator.js';
import { Problem } from '../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { StaticFile } from '../../web/rest/static-file.js';

/** Cache control of assets, whose names contain a hash of their content. */
const forEver = 'public, max-age=31536000, immutable';

/** Policy of the page: scripts and styles of this server only. The nonce is for the style element of the code editor. */
const policyWith = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "require-trusted-types-for 'script'",
  ].join('; ');

/** The page that is shown instead of a console that was not built. */
const notBuilt = (publicPath: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>Toolkeeper</title>
<h1>The console is not built</h1>
<p>Run <code>npm run build</code> in Toolkeeper's folder and start the server again. The API works without it: see <a href="${publicPath}/docs">/docs</a>.</p>
</html>
`;

/** Serves the files of the web console. They contain no secrets: users sign in through the API. */
@ApiExcludeController()
@Controller()
export class ConsoleController {
  private readonly files: ConsoleFiles;
  private readonly publicPath: string;

  constructor(@Inject(APP_CONFIG) { root, server }: Pick<AppConfig, 'root' | 'server'>) {
    this.publicPath = server.publicPath;
    this.files = new ConsoleFiles(join(root, 'console', 'dist'), this.publicPath);
  }

  /** Redirects browsers to the console and API clients to the documentation. */
  @Get()
  @Public()
  @Redirect()
  home(@Headers('accept') accept: string | undefined): { url: string } {
    return { url: `${this.publicPath}${wantsPage(accept) ? '/console/' : '/docs'}` };
  }

  /** @throws Problem `not_found` */
  @Get('console/assets/:name')
  @Public()
  async asset(
    @Param('name') name: string,
    @Headers('accept-encoding') encodings: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const file = this.files.asset(name);
    if (!file) throw new Problem('not_found', `There is no file ${name} in this build of the console.`);
    await file.send(encodings, reply.header('cache-control', forEver));
  }

  /** Sends the page of the console, which is the same for all paths below /console/. @throws Problem `not_found` */
  @Get(['console', 'console/*'])
  @Public()
  async page(@Headers('accept') accept: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    if (!acceptsPage(accept)) throw new Problem('not_found', 'The console is for browsers.');
    const nonce = randomBytes(16).toString('base64');
    const page = this.files.page(nonce);
    await reply
      .status(page === undefined ? 503 : 200)
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': policyWith(nonce),
        'cross-origin-opener-policy': 'same-origin',
      })
      .send(page ?? notBuilt(this.publicPath));
  }
}

/** Whether a client names HTML among the types that it accepts. */
const wantsPage = (accept = ''): boolean => /\btext\/html\b/i.test(accept);
/** Whether a client accepts HTML. All types count, too, because monitors and `curl -I` name none. */
const acceptsPage = (accept = '*/*'): boolean => wantsPage(accept) || accept.trim() === '*/*';

/** Content types by the extension of a file. */
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The built console, read once at the start. */
export class ConsoleFiles {
  private readonly assets = new Map<string, StaticFile>();
  private readonly index: string | undefined;

  /** @param folder the build; without a complete one there is no console @param publicPath path below which a proxy serves it */
  constructor(folder: string, publicPath: string) {
    try {
      const index = readFileSync(join(folder, 'index.html'), 'utf8');
      this.index = index.replaceAll('"./assets/', `"${publicPath}/console/assets/`);
      for (const name of readdirSync(join(folder, 'assets'))) {
        const type = types[extname(name)] ?? 'application/octet-stream';
        this.assets.set(name, new StaticFile(type, readFileSync(join(folder, 'assets', name))));
      }
    } catch {
      this.index = undefined;
    }
  }

  /** An asset; undefined if the build has none of this name. */
  asset(name: string): StaticFile | undefined {
    return this.assets.get(name);
  }

  /** The page with a nonce; undefined if there is no build. */
  page(nonce: string): string | undefined {
    return this.index?.replaceAll('__NONCE__', nonce);
  }
}

@Module({ controllers: [ConsoleController] })
export class ConsoleModule {}
