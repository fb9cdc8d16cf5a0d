import type { Tracer } from '../../observability/tracing/tracer.js';
import { type ExchangeSettings, HttpExchange, type UpstreamRequest } from './http-exchange.js';

/** Each try is a span, and the service is told which, so that its own spans stand below it. */
export class TracedExchange extends HttpExchange {
  private readonly server: Readonly<Record<string, string | number>>;

  constructor(
    settings: ExchangeSettings,
    private readonly tracer: Tracer,
  ) {
    super(settings);
    const { hostname, port, protocol } = new URL(settings.url);
    const usual = protocol === 'https:' ? 443 : 80;
    this.server = { 'server.address': hostname, 'server.port': Number(port) || usual };
  }

  override send(request: UpstreamRequest, limitMs: number): Promise<unknown> {
    const attributes = {
      'http.request.method': request.method,
      // The query string holds what is looked for.
      'url.path': request.path.split('?')[0] ?? '',
      ...this.server,
    };
    return this.tracer.span(
      'data_storage.try',
      attributes,
      () => {
        const traceparent = this.tracer.traceparent(undefined);
        return super.send({ ...request, ...(traceparent && { headers: { traceparent } }) }, limitMs);
      },
      { kind: 'client' },
    );
  }
}
