import { isObject, type JsonObject } from '../../base/common/json.js';

/**
 * An item of a server's list with only the icons that clients may load: data URLs, and HTTPS URLs of the server's origin.
 * @param url of the server; null for a program
 */
export function withOwnIcons<T extends JsonObject>(item: T, url: string | null): T {
  const { icons, ...others } = item;
  if (icons === undefined) return item;
  const own = (Array.isArray(icons) ? icons : []).filter((icon) => isObject(icon) && isOwn(icon['src'], url));
  return { ...others, ...(own.length > 0 && { icons: own }) } as unknown as T;
}

function isOwn(src: unknown, server: string | null): boolean {
  const url = typeof src === 'string' ? URL.parse(src) : null;
  if (url?.protocol === 'data:') return /^image\//i.test(url.pathname);
  return url?.protocol === 'https:' && server !== null && url.origin === URL.parse(server)?.origin;
}
