import { loadConfig } from './app-config.js';

const tracing = (variables: Record<string, string>) => loadConfig(variables).tracing;

describe('tracing', () => {
  it.each<[Record<string, string>, boolean]>([
    [{}, false],
    [{ OTEL_SERVICE_NAME: 'x' }, false],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector/x' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' }, false],
  ])('with %j it is on: %s', (variables, on) => {
    expect(tracing(variables).on).toBe(on);
  });

  it.each([
    [{}, 'http://localhost:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/otlp' }, 'http://c:4318/otlp/v1/traces'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t/as-it-is' },
      'https://t/as-it-is',
    ],
  ])('with %j spans go to %s', (variables, url) => {
    expect(tracing(variables).url).toBe(url);
  });

  it.each<Record<string, string>>([
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { OTEL_TRACES_EXPORTER: 'jaeger' },
    { OTEL_TRACES_SAMPLER: 'sometimes' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://hidden@c' },
  ])('does not accept %j, nor repeats a secret', (variables) => {
    expect(() => tracing(variables)).toThrow(Object.keys(variables)[0]);
    expect(() => tracing(variables)).not.toThrow('hidden');
  });
});
