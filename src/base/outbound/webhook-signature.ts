import { createHmac } from 'node:crypto';

/** A message, as its receiver checks it (standardwebhooks.com). */
interface Message {
  /** The same for every try. */
  readonly id: string;
  /** Seconds since 1970, of this try. */
  readonly timestamp: number;
  readonly body: string;
}

/** Prefix of a secret that is base64. */
const encodedPrefix = 'whsec_';

/** The bytes of a secret: base64 after `whsec_`, else its text. */
export const secretBytes = (secret: string): Buffer =>
  secret.startsWith(encodedPrefix)
    ? Buffer.from(secret.slice(encodedPrefix.length), 'base64')
    : Buffer.from(secret);

/** Headers with which a receiver checks the sender, the message and its age. */
export function signatureHeaders(secret: Buffer, { id, timestamp, body }: Message): Record<string, string> {
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
