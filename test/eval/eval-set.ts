import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { NewPlaybook } from '../../src/playbook-search/playbook.types.js';
import { projectRoot } from '../../src/config/app-config.js';

export interface EvalQuery {
  readonly id: string;
  readonly kind: 'ordinary' | 'no-overlap' | 'off-topic';
  readonly half: 'tuned' | 'untouched';
  /** Ids of the playbooks that are right answers. */
  readonly relevant: readonly string[];
  readonly text: string;
}

export const evalQueries = (): EvalQuery[] =>
  parse(readFileSync(join(projectRoot(), 'test', 'eval', 'queries.yaml'), 'utf8'));

/** The sample catalogue as its files have it. */
export function samplePlaybooks(): NewPlaybook[] {
  const folder = join(projectRoot(), 'playbooks');
  return readdirSync(folder).map((file) => parse(readFileSync(join(folder, file), 'utf8')));
}
