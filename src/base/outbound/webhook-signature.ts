import { createHmac } from 'node:crypto';

/** A message, as its receiver checks it (standardwebhooks.com). */
export interface SignedMessage {
  /** The same for every try. */
  readonly id: string;
  /** Seconds since 1970, of this try. */
  readonly timestamp: number;
  readonly body: string;
}

const encodedPrefix = 'whsec_';

/** The bytes of a secret: base64 after `whsec_`, else its text. */
export const secretBytes = (secret: string): Buffer =>
  secret.startsWith(encodedPrefix)
    ? Buffer.from(secret.slice(encodedPrefix.length), 'base64')
    : Buffer.from(secret);

/** Headers that prove the sender, and that the message was neither changed nor kept for long. */
export function signatureHeaders(
  secret: Buffer,
  { id, timestamp, body }: SignedMessage,
): Record<string, string> {
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
