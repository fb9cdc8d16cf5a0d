import { runDrain } from '../../journal/drain-thread.js';
import type { SinkSettings } from '../../journal/table-sink.js';
import { SpanSink } from './span-sink.js';

runDrain((settings: SinkSettings) => new SpanSink(settings));
