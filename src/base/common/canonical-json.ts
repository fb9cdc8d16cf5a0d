import { hash } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';

/** JSON with sorted keys and no white space: equal values give equal text. */
export const canonicalJson = (value: unknown): string => stringify(value) ?? 'null';

/** SHA-256 in hexadecimal. */
export const sha256 = (text: string | Buffer): string => hash('sha256', text);
