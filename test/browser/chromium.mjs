import { existsSync } from 'node:fs';

/** @returns undefined where there is none */
export const chromiumPath = () =>
  [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
    (path) => path !== undefined && existsSync(path),
  );

/** The name of another site that was bound to this machine's address. */
export const reboundName = 'rebound.test';

/** Hosts other than this machine do not exist. */
export const launchArguments = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  `--host-resolver-rules=MAP ${reboundName} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
];
