import { readFileSync } from 'node:fs';
import type { AppConfig } from '../../src/base/config/app-config.js';

/** The key that changes something on a server: the one it was given, else the one it has made; none where nobody is asked. */
export function adminKeyOf({ auth }: Pick<AppConfig, 'auth'>): string {
  if (auth.mode === 'off') return '';
  return auth.adminKey ?? readFileSync(auth.adminKeyFile, 'utf8').trim();
}

/** The header that shows a key. */
export const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });
