import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { hash } from 'node:crypto';
import { Problem } from '../../base/common/errors.js';
import { statusOfProblem } from './problem.filter.js';

/** Escapes text for HTML content and quoted attributes. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

const style =
  ':root{color-scheme:light dark}' +
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:10vh auto;padding:0 1rem;overflow-wrap:anywhere}';
/** Content security policy of a page: nothing but its own style. */
const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; frame-ancestors 'none'`;

/** Sends a plain page that is not cached. @param paragraphs HTML, escaped by the caller */
export const sendPage = (
  reply: FastifyReply,
  title: string,
  ...paragraphs: readonly string[]
): FastifyReply =>
  reply
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': policy,
    })
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
        `<title>${escaped(title)}</title><style>${style}</style></head><body><main>` +
        `<h1>${escaped(title)}</h1>${paragraphs.map((each) => `<p>${each}</p>`).join('\n')}</main></body></html>`,
    );

/** Shows problems of a route for browsers as a page. */
@Catch(Problem)
export class ProblemPage implements ExceptionFilter {
  catch(problem: Problem, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void sendPage(reply.status(statusOfProblem(problem)), 'This did not work', escaped(problem.detail));
  }
}
