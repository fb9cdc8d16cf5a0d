import { runDrain } from '../journal/drain-thread.js';
import { ExecutionSink, type ExecutionSinkSettings } from './execution-sink.js';

runDrain((settings: ExecutionSinkSettings) => new ExecutionSink(settings));
