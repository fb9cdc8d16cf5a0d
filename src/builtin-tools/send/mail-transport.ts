import type { Transporter } from 'nodemailer';
import { isLoopback } from '../../outbound/addresses.js';
import type { MailServer } from '../../config/builtin-settings.js';
import type { ToolFailure } from '../../tool-contract/tool-outcome.js';
import { awayFailure, callerMistake } from '../failures.js';

export interface MailAttachment {
  readonly filename: string;
  readonly content: Buffer;
  readonly contentType?: string;
}

interface Mail {
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
  readonly attachments: readonly MailAttachment[];
}

interface SentMail {
  readonly messageId: string;
  /** Addresses that the server did not take; it took the others. */
  readonly rejected: readonly string[];
}

/** Hands mail to the operator's mail server, from the operator's address. */
export class MailTransport {
  constructor(
    private readonly server: MailServer,
    private readonly timeoutMs: number,
  ) {}

  /** @throws ToolFailure with a sentence that says whether anything was sent */
  async send(mail: Mail, signal: AbortSignal): Promise<SentMail> {
    const transport = await this.connect();
    try {
      const { messageId, rejected } = (await transport.sendMail({
        from: this.server.from,
        ...mail,
        to: [...mail.to],
        cc: [...mail.cc],
        bcc: [...mail.bcc],
        attachments: [...mail.attachments],
        signal,
      })) as SentMail;
      return { messageId, rejected: rejected.map(String) };
    } catch (error) {
      throw failureOf(error as MailError);
    } finally {
      transport.close();
    }
  }

  private async connect(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    const { host, port, secure, auth } = this.server;
    const { timeoutMs } = this;
    return createTransport({
      host,
      port,
      secure,
      ...(auth && { auth }),
      // A password goes over an open line on this machine alone.
      requireTLS: auth !== undefined && !isLoopback(host),
      dnsTimeout: timeoutMs,
      // Shorter, so that a server that is not there is told from one that falls silent later.
      connectionTimeout: timeoutMs / 2,
      greetingTimeout: timeoutMs / 2,
      socketTimeout: timeoutMs,
      // Attachments were read before, from where they may be.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}

type MailError = Error & {
  readonly code?: string;
  /** The system's, behind nodemailer's own. */
  readonly originalCode?: string;
  /** `connect` where there was no connection. */
  readonly syscall?: string;
  /** The wait that took too long. */
  readonly timeoutType?: string;
  /** The server's answer to the last command. */
  readonly response?: string;
  readonly permanent?: boolean;
};

/** Ends that come before any mail is handed over; of others that cannot be told. */
const isBefore = ({ code = '', syscall, timeoutType = 'none' }: MailError): boolean =>
  ['EDNS', 'ETLS'].includes(code) ||
  syscall === 'connect' ||
  ['CONNECT_TIMEOUT', 'GREETING_TIMEOUT', 'UPGRADE_TIMEOUT'].includes(timeoutType);

function failureOf(error: MailError): ToolFailure {
  const { code, originalCode, response, message, permanent } = error;
  if (code === 'EAUTH')
    return awayFailure('The mail server refuses the login of this server: nothing was sent');
  if (response !== undefined) {
    const said = response.slice(0, 300);
    // Its answer names the recipient, or what it has against the mail.
    if (permanent) return callerMistake(`The mail server refuses the mail: ${said}`);
    return awayFailure(`The mail server puts the mail off: ${said}`);
  }
  const why = originalCode ?? code ?? message;
  return isBefore(error)
    ? awayFailure(`The mail server cannot be reached (${why}): nothing was sent`)
    : awayFailure(`The connection to the mail server ended (${why}): the mail may have been sent`);
}
