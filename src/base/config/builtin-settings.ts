import { relative } from 'node:path';
import { OutboundRules } from '../outbound/addresses.js';
import { projectRoot } from '../common/project.js';
import { folder, kind, type Kind, list, secret, setting, someOf, type Values } from './setting.js';

/** Names of all built-in tools. */
export const builtinToolNames =
  'webSearch fetchPage fetchURLs readFile writeFile sendWebhook sendEmail'.split(' ');

const someNames = someOf(...builtinToolNames);
const toolNames: Kind<ReadonlySet<string>> = {
  accepts: `${someNames.accepts}, or \`none\``,
  read: (text) => someNames.read(text === 'none' ? '' : text),
};

/** The search service of `webSearch`. */
export interface SearchProvider {
  readonly provider: 'searxng' | 'brave';
  readonly origin: string;
  /** Base URL before the provider's own path, without a trailing slash. */
  readonly base: string;
  readonly key?: string;
}

const searchUrl: Kind<SearchProvider> = kind(
  'a URL that begins with `searxng+` or `brave+`; the key of Brave is its password',
  (text) => {
    const [, provider, rest = ''] = /^(searxng|brave)\+(https?:.*)$/.exec(text) ?? [];
    const url = URL.parse(rest);
    if (!url || url.search !== '' || url.hash !== '') return undefined;
    const key = decodeURIComponent(url.password);
    // Brave needs a key, SearXNG takes none.
    if ((provider === 'brave') !== (key !== '')) return undefined;
    return {
      provider: provider as SearchProvider['provider'],
      origin: url.origin,
      base: url.pathname.replace(/\/+$/, ''),
      ...(key !== '' && { key }),
    };
  },
);

/** The mail server of `sendEmail`. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** Whether the connection begins with TLS. */
  readonly secure: boolean;
  readonly auth?: { readonly user: string; readonly pass: string };
  /** The sender's address. */
  readonly from: string;
}

const smtpUrl: Kind<MailServer> = kind(
  '`smtp://` or `smtps://`, `user:password@` if the server asks for them, host, port, and `?from=` the sender unless the user is its address',
  (text) => {
    const url = URL.parse(text);
    if (!url?.hostname || !['smtp:', 'smtps:'].includes(url.protocol)) return undefined;
    if ([...url.searchParams.keys()].some((name) => name !== 'from')) return undefined;
    const secure = url.protocol === 'smtps:';
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    const from = url.searchParams.get('from') ?? user;
    if (!/^[^\s<>@]+@[^\s<>@]+$/.test(from)) return undefined;
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port) || (secure ? 465 : 587),
      secure,
      ...(pass !== '' && { auth: { user, pass } }),
      from,
    };
  },
);

const outboundRules: Kind<OutboundRules> = kind(
  'hosts (`name`, `*.domain`, an address) and networks (`10.0.0.0/8`), comma-separated, each with `:port` where that is neither 80 nor 443',
  (text) => OutboundRules.parse(list.read(text)),
);

/** Settings of the built-in tools; see docs/tools/built-in-tools.md. */
export const builtinTools = {
  builtinTools: {
    enabled: setting('BUILTIN_TOOLS', toolNames, 'readFile,writeFile').means(
      '[Built-in tools](tools/built-in-tools.md) to turn on.',
    ),
    filesDir: setting('FILES_DIR', folder, './files').means(
      'Folder for `readFile`, `writeFile` and `sendEmail`, with a subfolder for each project.',
    ),
    search: setting('WEB_SEARCH_URL', searchUrl).means(
      'Search service of `webSearch`, such as `searxng+http://localhost:8888` or `brave+https://:KEY@api.search.brave.com`.',
    ),
    mail: setting('SMTP_URL', smtpUrl).means(
      'Mail server of `sendEmail`, such as `smtps://user:password@mail.example.com?from=agent@example.com`.',
    ),
    webhookSecret: setting('SEND_WEBHOOK_SECRET', secret).means(
      'Secret that signs webhooks of `sendWebhook` and of asynchronous calls: `whsec_` and base64, or any text. It must differ from `WEBHOOK_SECRET`.',
    ),
    outbound: setting('OUTBOUND_ALLOW', outboundRules, '').means(
      'Additional [destinations](tools/built-in-tools.md#outbound-addresses) of built-in tools, of webhooks that callers name, and of [sign-ins](tools/mcp-servers.md#oauth) to MCP servers.',
    ),
    page: {
      /** Timeout of a page, from the name look-up to the last byte. */
      timeoutMs: 15_000,
      /** Max size of a page after decompression. */
      maxBytes: 5_242_880,
      maxRedirects: 5,
      /** Max pages that are loaded at a time, and max pages that wait. */
      maxConcurrent: 16,
      maxWaiting: 100,
      /** Limits of the process that reads pages. */
      readMs: 10_000,
      readMb: 256,
    },
    webhook: { timeoutMs: 10_000, retries: 2, pauseMs: 500, maxResponseBytes: 65_536 },
    mailLimits: {
      /** Timeout of each answer of the mail server. */
      timeoutMs: 20_000,
      maxRecipients: 50,
      maxBytes: 10_485_760,
      maxConcurrent: 4,
      maxWaiting: 100,
    },
    files: { maxBytes: 16_777_216 },
  },
};

type BuiltinValues = Values<typeof builtinTools>['builtinTools'];

/**
 * Checks the settings of built-in tools.
 * @param others folders of other data, by their variables, to which tools must not write
 * @returns a sentence for each missing or dangerous setting
 */
export function builtinProblems(values: BuiltinValues, others: Readonly<Record<string, string>>): string[] {
  const required = [
    { tool: 'webSearch', variable: 'WEB_SEARCH_URL', value: values.search },
    { tool: 'sendEmail', variable: 'SMTP_URL', value: values.mail },
    { tool: 'sendWebhook', variable: 'SEND_WEBHOOK_SECRET', value: values.webhookSecret },
  ];
  const lacking = required
    .filter(({ tool, value }) => values.enabled.has(tool) && value === undefined)
    .map(({ tool, variable }) => `${variable}: must be set if BUILTIN_TOOLS names ${tool}`);
  const { filesDir } = values;
  const shared = Object.entries(others)
    .filter(([, path]) => contains(filesDir, path) || contains(path, filesDir))
    .map(([variable]) => `FILES_DIR: must be apart from ${variable}`);
  if (contains(filesDir, projectRoot())) shared.push('FILES_DIR: must not hold the project');
  return [...lacking, ...shared];
}

/** Whether a path is the folder or lies below it. */
const contains = (folder: string, path: string): boolean => !/^\.\.(\/|$)/.test(relative(folder, path));
