import { runDrain } from '../../journal/drain-thread.js';
import type { SinkSettings } from '../../journal/sink-connection.js';
import { SpanSink } from './span-sink.js';

runDrain((settings: SinkSettings) => new SpanSink(settings));
