import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { projectRoot } from '../../src/base/common/project.js';
import type { CreatePlaybookBody } from '../../src/agents/playbooks/playbook-bodies.dto.js';

export interface EvalQuery {
  readonly id: string;
  readonly kind: 'ordinary' | 'no-overlap' | 'low-overlap' | 'off-topic';
  readonly half: 'tuned' | 'untouched';
  /** Ids of the playbooks that are right answers. */
  readonly relevant: readonly string[];
  readonly text: string;
}

const read = <T>(...path: string[]): T => parse(readFileSync(join(projectRoot(), ...path), 'utf8')) as T;

export const evalQueries = (): EvalQuery[] => read('test', 'eval', 'queries.yaml');

/** The sample catalogue as its files have it. */
export const samplePlaybooks = (): CreatePlaybookBody[] =>
  readdirSync(join(projectRoot(), 'playbooks')).map((file) => read('playbooks', file));

/** Playbooks with a name and a description alone, and questions whose author has not seen them. */
export const plainSet = (): { queries: EvalQuery[]; playbooks: CreatePlaybookBody[] } => ({
  queries: read('test', 'eval', 'plain', 'queries.yaml'),
  playbooks: read('test', 'eval', 'plain', 'playbooks.yaml'),
});
