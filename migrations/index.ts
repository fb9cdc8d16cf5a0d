import { Initial1764000010000 } from './0001-initial.js';

/** Every migration in order; append only. */
export const migrations = [Initial1764000010000];
