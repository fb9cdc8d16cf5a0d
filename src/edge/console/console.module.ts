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

/** Names of assets hold a hash of their content. */
const forEver = 'public, max-age=31536000, immutable';

/** Scripts and styles come from this server alone; the nonce is for the one style element that the code editor makes. */
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

const notBuilt = (publicPath: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<title>Toolkeeper</title>
<h1>The console is not built</h1>
<p>Run <code>npm run build</code> in Toolkeeper's folder and start the server again. The API works without it: see <a href="${publicPath}/docs">/docs</a>.</p>
</html>
`;

/** The web console's files. They hold no secret: whoever opens them signs in by the API. */
@ApiExcludeController()
@Controller()
export class ConsoleController {
  private readonly files: ConsoleFiles;

  private readonly publicPath: string;

  constructor(@Inject(APP_CONFIG) { root, server }: Pick<AppConfig, 'root' | 'server'>) {
    this.publicPath = server.publicPath;
    this.files = new ConsoleFiles(join(root, 'console', 'dist'), this.publicPath);
  }

  /** Browsers are led to the console, API clients to the pages that explain the API. */
  @Get()
  @Public()
  @Redirect()
  home(@Headers('accept') accept: string | undefined): { url: string } {
    return { url: this.publicPath + (wantsPage(accept) ? '/console/' : '/docs') };
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

  /** Every address below /console/ is the same page, which shows what the address says. @throws Problem `not_found` */
  @Get(['console', 'console/*'])
  @Public()
  async page(@Headers('accept') accept: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    if (!takesPage(accept)) throw new Problem('not_found', 'The console is for browsers.');
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

const wantsPage = (accept = ''): boolean => /\btext\/html\b/i.test(accept);
/** Monitors and `curl -I` name no type. */
const takesPage = (accept = '*/*'): boolean => wantsPage(accept) || accept.trim() === '*/*';

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The built console, read once: a build that takes its place takes effect with the next start. */
export class ConsoleFiles {
  private readonly assets = new Map<string, StaticFile>();
  private readonly index: string | undefined;

  /**
   * @param folder where the build stands; what is absent or half there counts as no build
   * @param publicPath path below which a proxy shows the server
   */
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

  asset(name: string): StaticFile | undefined {
    return this.assets.get(name);
  }

  /** @returns the page with this nonce at the places where a nonce belongs; undefined if there is no build */
  page(nonce: string): string | undefined {
    return this.index?.replaceAll('__NONCE__', nonce);
  }
}

/** The web console under /console/. */
@Module({ controllers: [ConsoleController] })
export class ConsoleModule {}
