import { runDrain } from '../journal/drain-thread.js';
import { ExecutionSink, type SinkSettings } from './execution-sink.js';

runDrain((settings: SinkSettings) => new ExecutionSink(settings));
