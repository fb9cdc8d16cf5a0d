import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

interface Letter {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body, as they came. */
  readonly text: string;
}

/** A mail server on loopback. It knows everybody but `nobody@…`. */
export class MailBox {
  readonly received: Letter[] = [];
  private readonly server: SMTPServer;

  private constructor() {
    this.server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onRcptTo: ({ address }, _session, done) => {
        const isKnown = !address.startsWith('nobody@');
        done(isKnown ? null : Object.assign(new Error('There is nobody'), { responseCode: 550 }));
      },
      onData: (stream, { envelope }, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const from = envelope.mailFrom === false ? '' : (envelope.mailFrom?.address ?? '');
          const to = envelope.rcptTo.map(({ address }) => address);
          this.received.push({ from, to, text: Buffer.concat(chunks).toString() });
          done();
        });
      },
    });
  }

  static async start(): Promise<MailBox> {
    const box = new MailBox();
    await once(box.server.listen(0, '127.0.0.1'), 'listening');
    return box;
  }

  get port(): number {
    return (this.server.server.address() as AddressInfo).port;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
