import { Initial1764000010000 } from './0001-initial.js';
import { ExecutionsByRequest1764000020000 } from './0002-executions-by-request.js';

/** Every migration in order; append only. */
export const migrations = [Initial1764000010000, ExecutionsByRequest1764000020000];
