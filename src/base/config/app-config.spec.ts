import { ConfigurationError, loadConfig } from './app-config.js';

describe('loadConfig', () => {
  it('has a default for everything', () => {
    const config = loadConfig({});
    expect(config.server).toMatchObject({ host: '127.0.0.1', port: 3000, loopback: true });
    expect(config.customTools).toMatchObject({ enabled: true, defaultTimeoutMs: 30_000, maxPoolSize: 10 });
    expect(config.investigations).toMatchObject({ callsPerTool: 10, ttlMs: 86_400_000 });
  });

  it('converts what is given', () => {
    const config = loadConfig({
      PORT: '0',
      CUSTOM_TOOLS_ENABLED: 'false',
      CIRCUIT_MIN_FAILURE_RATE: '0',
      CAPTURE_TTL_HOURS: '0.5',
      DATABASE_URL: 'postgres://u:p@localhost:5432/db',
      ALLOWED_HOSTS: 'Tools.example.com, other',
    });
    expect(config.server.port).toBe(0);
    expect(config.server.allowedHosts).toEqual(['tools.example.com', 'other']);
    expect(config.customTools.enabled).toBe(false);
    expect(config.circuit.minFailureRate).toBe(0);
    expect(config.recorder.captureTtlMs).toBe(1_800_000);
    expect(config.database.url).toBe('postgres://u:p@localhost:5432/db');
  });

  it('treats an empty variable as absent', () => {
    expect(loadConfig({ PORT: '', DATABASE_URL: ' ' }).server.port).toBe(3000);
  });

  it('names every bad variable at once', () => {
    const bad = {
      PORT: '99999',
      CUSTOM_TOOLS_ENABLED: 'yes',
      DATABASE_URL: 'mysql://x/y',
      ADMIN_API_KEY: 'short',
    };
    expect(() => loadConfig(bad)).toThrow(ConfigurationError);
    for (const name of Object.keys(bad)) expect(() => loadConfig(bad)).toThrow(name);
  });

  it('names in the same breath what does not go together, and nothing twice', () => {
    const bad = {
      PORT: '99999',
      WEBHOOK_URLS: 'https://example.com/hook',
      WEBHOOK_EVENTS: 'tool.bored',
      EMBEDDINGS_MODEL: 'nomic-embed-text',
      EMBEDDINGS_CUT: 'half',
    };
    const message = (): string => {
      try {
        loadConfig(bad);
      } catch (error) {
        return (error as Error).message;
      }
      return 'accepted';
    };
    const named = message()
      .split('\n  ')
      .slice(1)
      .map((line) => line.slice(0, line.indexOf(':')));
    const { EMBEDDINGS_MODEL: _, WEBHOOK_URLS: __, ...others } = bad;
    expect(named.sort()).toEqual([...Object.keys(others), 'EMBEDDINGS_URL', 'WEBHOOK_SECRET'].sort());
  });

  it.each([
    [{ WEBHOOK_URLS: 'https://example.com/hook' }, 'WEBHOOK_SECRET'],
    [{ WEBHOOK_URLS: 'ftp://user:hidden@example.com', WEBHOOK_SECRET: 'x'.repeat(16) }, 'WEBHOOK_URLS'],
    [{ WEBHOOK_EVENTS: 'tool.crashed,tool.bored' }, 'tool.bored'],
    [{ EMBEDDINGS_URL: 'http://localhost:11434/v1' }, 'EMBEDDINGS_MODEL: must be set if EMBEDDINGS_URL is'],
    [{ PUBLIC: 'metrics,all' }, 'PUBLIC: all: there are metrics, docs'],
    [{ SANDBOX: 'true' }, 'SANDBOX: must be `enforce` or `best-effort` or `off`'],
    [{ CUSTOM_TOOLS_SANDBOX_ENABLED: 'no' }, 'CUSTOM_TOOLS_SANDBOX_ENABLED: must be `true` or `false`'],
  ])('does not accept %j', (variables, said) => {
    expect(() => loadConfig(variables)).toThrow(ConfigurationError);
    expect(() => loadConfig(variables)).toThrow(said);
    expect(() => loadConfig(variables)).not.toThrow('hidden');
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'enforce'],
    [{ SANDBOX: 'off' }, 'off'],
    [{ CUSTOM_TOOLS_SANDBOX_ENABLED: 'true' }, 'enforce'],
    [{ CUSTOM_TOOLS_SANDBOX_ENABLED: 'false' }, 'off'],
    [{ SANDBOX: 'best-effort', CUSTOM_TOOLS_SANDBOX_ENABLED: 'false' }, 'best-effort'],
  ])('with %j the sandbox is %s', (variables, policy) => {
    expect(loadConfig(variables).sandbox.policy).toBe(policy);
  });

  it.each(['0.0.0.0', '::', '10.1.2.3', 'example.com'])('does not take %s for loopback', (HOST) => {
    expect(loadConfig({ HOST }).server.loopback).toBe(false);
  });
});
