import type { FastifyReply } from 'fastify';

/** Escapes text for HTML content and quoted attributes. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** Sends a plain page that is not cached. @param paragraphs HTML, escaped by the caller */
export const sendPage = (
  reply: FastifyReply,
  title: string,
  ...paragraphs: readonly string[]
): FastifyReply =>
  reply
    .headers({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
        `<meta name="color-scheme" content="light dark"><title>${escaped(title)}</title></head><body>` +
        `<h1>${escaped(title)}</h1>${paragraphs.map((each) => `<p>${each}</p>`).join('\n')}</body></html>`,
    );
