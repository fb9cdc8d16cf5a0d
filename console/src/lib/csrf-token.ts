const name = 'toolkeeper.session';

/**
 * The CSRF token of the session, which no cookie carries: pages on other ports of this host are sent the cookie, too, but they
 * read neither this tab's storage nor its channel, which belong to one origin.
 */
export const csrfToken = {
  read: (): string | null => window.sessionStorage.getItem(name),
  keep: (value: string): void => window.sessionStorage.setItem(name, value),
  forget: (): void => window.sessionStorage.removeItem(name),
};

const timeoutMs = 300;

/** Asks the other tabs for the token, so that a new tab can change things. */
export function askOtherTabs(): Promise<void> {
  const channel = new BroadcastChannel(name);
  return new Promise<void>((resolve) => {
    setTimeout(resolve, timeoutMs);
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data !== 'object' || data === null || !('half' in data)) return;
      csrfToken.keep(String(data.half));
      resolve();
    };
    channel.postMessage('ask');
  }).finally(() => channel.close());
}

/** Gives the token to tabs that ask for it. @param onEnded runs when another tab has signed out */
export function listenToOtherTabs(onEnded: () => void): void {
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => {
    const token = csrfToken.read();
    if (data === 'ask' && token !== null) channel.postMessage({ half: token });
    if (data === 'ended') onEnded();
  };
}

/** Notifies the other tabs that the session has ended. */
export function endInOtherTabs(): void {
  const channel = new BroadcastChannel(name);
  channel.postMessage('ended');
  channel.close();
}
