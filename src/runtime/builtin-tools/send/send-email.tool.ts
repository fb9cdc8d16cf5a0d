import type { SendMailOptions, Transporter } from 'nodemailer';
import { defineTool } from '../../../web/contract/define-tool.js';
import type { Tool } from '../../../web/contract/tool.js';
import { awayFailure, callerMistake } from '../failures.js';
import { ConcurrencyLimit } from '../limits.js';
import { type FileContent, filePath, type ProjectFiles } from '../files/project-files.js';
import type { AppConfig } from '../../../base/config/app-config.js';
import { isLoopback } from '../../../base/outbound/addresses.js';
import type { MailServer } from '../../../base/config/builtin-settings.js';
import type { ToolFailure } from '../../../web/contract/tool-outcome.js';

type Addresses = string | readonly string[];

interface Attachment {
  readonly filename?: string;
  readonly path?: string;
  readonly content?: string;
  readonly contentType?: string;
  readonly encoding?: 'utf-8' | 'base64';
}

interface Input {
  readonly to: Addresses;
  readonly subject: string;
  readonly body: string;
  readonly cc: Addresses;
  readonly bcc: Addresses;
  readonly html: boolean;
  readonly attachments: readonly Attachment[];
}

/** Schema of one address or several. */
const addressesSchema = (description: string): object => ({
  anyOf: [
    { type: 'string', maxLength: 4_096 },
    { type: 'array', items: { type: 'string', maxLength: 320 } },
  ],
  description,
});

const attachmentSchema = {
  type: 'object',
  properties: {
    filename: { type: 'string', pattern: '^[^\\x00-\\x1f/\\\\]+$', maxLength: 255 },
    path: { ...filePath, description: 'A file of the files folder' },
    content: { type: 'string', description: 'The content itself, instead of a path' },
    contentType: { type: 'string', pattern: '^[\\w.+-]+/[\\w.+-]+$', maxLength: 100 },
    encoding: { enum: ['utf-8', 'base64'], description: 'Of content; utf-8 if absent' },
  },
  oneOf: [{ required: ['path'] }, { required: ['content', 'filename'] }],
  additionalProperties: false,
};

/** The tool that sends mail through the operator's mail server. */
export function sendEmail(
  mail: MailTransport,
  files: ProjectFiles,
  limits: AppConfig['builtinTools']['mailLimits'],
): Tool {
  const limit = new ConcurrencyLimit('mails are sent', limits);
  return defineTool<Input>({
    name: 'sendEmail',
    description:
      'Send an email from the address of this server. Attachments come from the files folder, or as content.',
    input: {
      type: 'object',
      properties: {
        to: addressesSchema('Addresses such as ada@example.com, a list or separated by commas'),
        subject: { type: 'string', pattern: '^[^\\r\\n]+$', maxLength: 900 },
        body: { type: 'string' },
        cc: { ...addressesSchema('Addresses of copies'), default: [] },
        bcc: { ...addressesSchema('Addresses of blind copies'), default: [] },
        html: { type: 'boolean', default: false, description: 'body is HTML' },
        attachments: { type: 'array', maxItems: 20, items: attachmentSchema, default: [] },
      },
      required: ['to', 'subject', 'body'],
      additionalProperties: false,
    },
    annotations: { readOnly: false, idempotent: false, destructive: false, openWorld: true },
    tags: ['mail'],
    timeoutMs: 60_000,
    upstream: 'The answer of the mail server, which may have sent the mail,',
    run: ({ to, cc, bcc, subject, body, html, attachments }, run) =>
      limit.run(run, async () => {
        const recipients = {
          to: addressesIn('to', to),
          cc: addressesIn('cc', cc),
          bcc: addressesIn('bcc', bcc),
        };
        const count = Object.values(recipients).flat().length;
        if (recipients.to.length === 0) throw callerMistake('to names nobody');
        if (count > limits.maxRecipients)
          throw callerMistake(`A mail may have ${limits.maxRecipients} recipients; this one has ${count}`);
        const contents = await readAttachments(attachments, files, run.context.projectId, limits.maxBytes);
        const content = {
          ...recipients,
          subject,
          ...(html ? { html: body } : { text: body }),
          attachments: contents,
        };
        const { messageId, rejected } = await mail.send(content, run.signal);
        const sent = { success: true, messageId, to, subject, attachmentCount: contents.length };
        return rejected.length > 0 ? { ...sent, rejected } : sent;
      }),
  });
}

/** An address without names, groups or comments, which could hide its true recipient from readers. */
const plainAddress = /^[^\s\p{Cc}<>()[\]\\,;:"@]+@[^\s\p{Cc}<>()[\]\\,;:"@]+$/u;

/** The addresses of a field. @throws ToolFailure if one is not plain */
function addressesIn(field: string, given: Addresses): string[] {
  const list = (typeof given === 'string' ? given.split(',') : given)
    .map((address) => address.trim())
    .filter((address) => address !== '');
  const wrong = list.find((address) => !plainAddress.test(address));
  if (wrong === undefined) return list;
  throw callerMistake(`${field}: ${JSON.stringify(wrong)} is no plain email address`);
}

/** Reads all attachments. @throws ToolFailure if they are too large together */
async function readAttachments(
  attachments: readonly Attachment[],
  files: ProjectFiles,
  project: string,
  maxBytes: number,
): Promise<NonNullable<SendMailOptions['attachments']>> {
  const contents = [];
  let remaining = maxBytes;
  for (const { filename, path, content = '', encoding, contentType } of attachments) {
    const name = filename ?? path?.split('/').at(-1) ?? '';
    const { bytes, size } =
      path === undefined
        ? decodeContent(name, content, encoding)
        : await files.read(project, path, remaining);
    if (size > remaining) throw callerMistake(`Attachments may have ${maxBytes} bytes together`);
    remaining -= size;
    contents.push({ filename: name, content: bytes, ...(contentType !== undefined && { contentType }) });
  }
  return contents;
}

/** The bytes of an attachment's content. @throws ToolFailure if it is no base64 although it should be */
function decodeContent(
  name: string,
  content: string,
  encoding: Attachment['encoding'] = 'utf-8',
): FileContent {
  if (encoding === 'base64' && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content))
    throw callerMistake(`attachments: the content of ${name} is no base64`);
  const bytes = Buffer.from(content, encoding);
  return { bytes, size: bytes.length };
}

/** The mail server's answer. */
interface SentMail {
  readonly messageId: string;
  /** Addresses that the server refused; it accepted the others. */
  readonly rejected: readonly string[];
}

/** Sends mail through the operator's mail server, from the operator's address. */
export class MailTransport {
  constructor(
    private readonly server: MailServer,
    private readonly timeoutMs: number,
  ) {}

  /** Sends a mail. @throws ToolFailure that states whether anything was sent */
  async send(mail: SendMailOptions, signal: AbortSignal): Promise<SentMail> {
    const transport = await this.makeTransport();
    try {
      const { messageId, rejected } = (await transport.sendMail({
        from: this.server.from,
        ...mail,
        signal,
      })) as SentMail;
      return { messageId, rejected: rejected.map(String) };
    } catch (error) {
      throw failureOf(error as MailError);
    } finally {
      transport.close();
    }
  }

  /** A transport that has no connection yet. */
  private async makeTransport(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    const { host, port, secure, auth } = this.server;
    const { timeoutMs } = this;
    return createTransport({
      host,
      port,
      secure,
      ...(auth && { auth }),
      // Passwords are sent without TLS only on this machine.
      requireTLS: auth !== undefined && !isLoopback(host),
      dnsTimeout: timeoutMs,
      // Shorter, to distinguish an unreachable server from one that stops answering later.
      connectionTimeout: timeoutMs / 2,
      greetingTimeout: timeoutMs / 2,
      socketTimeout: timeoutMs,
      // Attachments were already read, from permitted places.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}

/** An error of nodemailer. */
type MailError = Error & {
  readonly code?: string;
  /** The system's code, which nodemailer replaces by its own. */
  readonly originalCode?: string;
  /** `connect` if there was no connection. */
  readonly syscall?: string;
  /** The wait that took too long. */
  readonly timeoutType?: string;
  /** The server's answer to the last command. */
  readonly response?: string;
  readonly permanent?: boolean;
};

/** Whether the failure precedes any sending. Other failures leave that open. */
const isBeforeSending = ({ code = '', syscall, timeoutType = 'none' }: MailError): boolean =>
  ['EDNS', 'ETLS'].includes(code) ||
  syscall === 'connect' ||
  ['CONNECT_TIMEOUT', 'GREETING_TIMEOUT', 'UPGRADE_TIMEOUT'].includes(timeoutType);

/** The failure for the caller. */
function failureOf(error: MailError): ToolFailure {
  const { code, originalCode, response, message, permanent } = error;
  if (code === 'EAUTH')
    return awayFailure('The mail server refuses the login of this server: nothing was sent');
  if (response !== undefined) {
    const reply = response.slice(0, 300);
    // The answer names the recipient or the reason.
    if (permanent) return callerMistake(`The mail server refuses the mail: ${reply}`);
    return awayFailure(`The mail server puts the mail off: ${reply}`);
  }
  const why = originalCode ?? code ?? message;
  return isBeforeSending(error)
    ? awayFailure(`The mail server cannot be reached (${why}): nothing was sent`)
    : awayFailure(`The connection to the mail server ended (${why}): the mail may have been sent`);
}
