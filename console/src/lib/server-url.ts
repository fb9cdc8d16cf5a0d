/** Address of the server, without a slash at its end. A proxy may show it below a path, so it is read from this script's own address. */
export const serverUrl = import.meta.url.replace(/\/console\/(assets|src)\/[^]*$/, '');

/** Path of the server below its origin; empty if there is none. */
export const serverPath = new URL(serverUrl).pathname.replace(/\/$/, '');

/** Path of the console, without a slash at its end. */
export const consolePath = `${serverPath}/console`;

/** The path of a screen, given with the console's own path or without it. */
export function withoutConsole(path: string): string {
  const own = [consolePath, '/console'].find((each) => path === each || path.startsWith(`${each}/`));
  return own === undefined ? path : path.slice(own.length).replace(/^\/*/, '/');
}
