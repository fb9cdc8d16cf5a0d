import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

export interface ExportLog {
  /** The first batch that did not arrive after one that did. */
  failed(error: Error | undefined, spans: number): void;
  /** The first that arrived again. */
  recovered(lost: number): void;
}

/** OpenTelemetry loses spans without a word; an operator should hear of it once, not for every batch. */
export class LoggedExporter implements SpanExporter {
  private lost = 0;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly log: ExportLog,
  ) {}

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.arrived();
      else this.failed(result.error, spans.length);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  private arrived(): void {
    if (this.lost > 0) this.log.recovered(this.lost);
    this.lost = 0;
  }

  private failed(error: Error | undefined, spans: number): void {
    if (this.lost === 0) this.log.failed(error, spans);
    this.lost += spans;
  }
}
