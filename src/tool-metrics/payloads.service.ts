import { Injectable } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import type { Principal } from '../tool-contract/principal.js';
import { PayloadsRepository } from './payloads.repository.js';
import type { PayloadView } from './payloads.shapes.js';
import type { ExecutionView } from './tool-metrics.shapes.js';

/** Inputs and answers of executions, where they were captured. */
@Injectable()
export class PayloadsService {
  constructor(private readonly repository: PayloadsRepository) {}

  /** @param id of an execution that there is */
  async find(id: string): Promise<PayloadView | undefined> {
    const payload = await this.repository.find(id);
    if (!payload) return undefined;
    const { preview: _ofLists, keptUntil, omitted = [], redacted = false, ...parts } = payload;
    return { executionId: id, ...parts, omitted, redacted, keptUntil: keptUntil.toISOString() };
  }

  /** @throws Problem `not_found` */
  async get({ metricId: id, toolName }: Pick<ExecutionView, 'metricId' | 'toolName'>): Promise<PayloadView> {
    const payload = await this.find(id);
    if (payload) return payload;
    throw new Problem(
      'not_found',
      `No input and result of execution ${id} are kept: ${toolName} did not capture them (its \`capture\`), or their time is over (CAPTURE_TTL_HOURS)`,
    );
  }

  /** Inputs in one line, for lists: as the payloads themselves, for those alone who register tools. */
  async withPreviews(rows: readonly ExecutionView[], caller: Principal): Promise<ExecutionView[]> {
    if (!caller.scopes.has('tools:admin') || rows.length === 0) return [...rows];
    const previews = await this.repository.previews(rows.map(({ metricId }) => metricId));
    return rows.map((row) => {
      const inputPreview = previews.get(row.metricId);
      return inputPreview === undefined ? row : { ...row, inputPreview };
    });
  }
}
