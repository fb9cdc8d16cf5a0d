import { type AppConfig, ConfigurationError, loadConfig } from './app-config.js';

const builtinsOf = (variables: NodeJS.ProcessEnv): AppConfig['builtinTools'] =>
  loadConfig(variables).builtinTools;

describe('BUILTIN_TOOLS', () => {
  it('is what stays on this machine, unless it says otherwise', () => {
    expect([...builtinsOf({}).enabled]).toEqual(['readFile', 'writeFile']);
    expect([...builtinsOf({ BUILTIN_TOOLS: 'fetchPage, readFile' }).enabled]).toEqual([
      'fetchPage',
      'readFile',
    ]);
    expect([...builtinsOf({ BUILTIN_TOOLS: 'none' }).enabled]).toEqual([]);
  });
});

describe('WEB_SEARCH_URL and SMTP_URL', () => {
  it('say where a provider is, and its key', () => {
    expect(builtinsOf({ WEB_SEARCH_URL: 'brave+https://:k%40y@api.example.com/' }).search).toEqual({
      provider: 'brave',
      origin: 'https://api.example.com',
      base: '',
      key: 'k@y',
    });
  });

  it('say where the mail server is, and who sends', () => {
    const { mail } = builtinsOf({ SMTP_URL: 'smtps://agent%40example.com:p%3Aw@mail.example.com' });
    expect(mail).toEqual({
      host: 'mail.example.com',
      port: 465,
      secure: true,
      auth: { user: 'agent@example.com', pass: 'p:w' },
      from: 'agent@example.com',
    });
    const plain = builtinsOf({ SMTP_URL: 'smtp://[::1]:25?from=a@b.example' }).mail;
    expect(plain).toEqual({ host: '::1', port: 25, secure: false, from: 'a@b.example' });
  });
});

it.each<[string, NodeJS.ProcessEnv, string]>([
  ['an unknown tool', { BUILTIN_TOOLS: 'readFile,rm' }, 'BUILTIN_TOOLS: rm: there are webSearch'],
  [
    'a search without an engine',
    { BUILTIN_TOOLS: 'webSearch' },
    'WEB_SEARCH_URL: must be set if BUILTIN_TOOLS',
  ],
  ['mail without a server', { BUILTIN_TOOLS: 'sendEmail' }, 'SMTP_URL: must be set'],
  ['webhooks without a secret', { BUILTIN_TOOLS: 'sendWebhook' }, 'SEND_WEBHOOK_SECRET: must be set'],
  [
    'an unknown engine',
    { WEB_SEARCH_URL: 'https://search.example.com' },
    'WEB_SEARCH_URL: must be a URL that',
  ],
  ['Brave without a key', { WEB_SEARCH_URL: 'brave+https://api.example.com' }, 'WEB_SEARCH_URL: must be'],
  ['no mail server', { SMTP_URL: 'https://mail.example.com?from=a@b.c' }, 'SMTP_URL: must be'],
  ['mail from nobody', { SMTP_URL: 'smtp://user:pass@mail.example.com' }, 'SMTP_URL: must be'],
  ['more of the mail server', { SMTP_URL: 'smtp://m.example?from=a@b.c&logger=true' }, 'SMTP_URL: must be'],
  ['a wrong network', { OUTBOUND_ALLOW: '10.0.0.0/99' }, 'OUTBOUND_ALLOW: must be hosts'],
  [
    'files among those of the server',
    { FILES_DIR: '.toolkeeper/files' },
    'FILES_DIR: must be apart from TOOLKEEPER',
  ],
  ['files where tools are found', { FILES_DIR: 'tools' }, 'FILES_DIR: must be apart from CUSTOM_TOOLS_DIR'],
  ['files around the project', { FILES_DIR: '..' }, 'FILES_DIR: must not hold the project'],
])('a start refuses %s', (_what, variables, why) => {
  expect(() => loadConfig(variables)).toThrow(ConfigurationError);
  expect(() => loadConfig(variables)).toThrow(why);
});
