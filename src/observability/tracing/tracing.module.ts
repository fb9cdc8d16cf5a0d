import { Global, Module } from '@nestjs/common';
import { noTracer, Tracer } from './tracer.js';

/** Traces for whoever asks for a Tracer. */
@Global()
@Module({
  providers: [{ provide: Tracer, useValue: noTracer }],
  exports: [Tracer],
})
export class TracingModule {}
