import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { isDeeperThan } from '../../common/json-depth.js';
import { KeyedMutex } from '../../common/keyed-mutex.js';
import { type FieldProblem, Problem } from '../../common/errors.js';
import { DtoPipe } from '../../rest/dto.pipe.js';
import { WorkerCalls } from '../../common/worker-calls.js';
import {
  type ImportItem,
  type ImportResult,
  PlaybookCatalogueService,
} from '../playbook-catalogue.service.js';
import { CreatePlaybookBody } from '../playbook-bodies.dto.js';
import { acceptYaml } from './yaml-body.js';
import { yamlText } from './yaml-documents.js';
import { isObject } from '../../common/json.js';

/** Playbooks stored by one request: they are stored in one transaction, during which no other change is. */
export const maxItems = 1_000;

/** One playbook of a request, not validated yet. */
interface DocumentItem {
  readonly value: unknown;
  /** JSON pointer to it; in YAML of several documents, to its place in the list of all of them. */
  readonly pointer: string;
}

/**
 * The playbooks of an import: one, a list, or `{"playbooks": [...]}`.
 * @throws Problem `invalid_request` when it is empty or holds too many
 */
export function itemsOf(document: unknown): DocumentItem[] {
  const items = listed(document);
  if (items.length === 0) throw invalid('', 'There is no playbook to import');
  if (items.length > maxItems) throw invalid('', `At most ${maxItems} playbooks are imported at a time`);
  return items;
}

function listed(document: unknown): DocumentItem[] {
  if (Array.isArray(document)) return members(document, '');
  if (isObject(document) && 'playbooks' in document) {
    const { playbooks, ...rest } = document;
    const [strange] = Object.keys(rest);
    if (strange !== undefined) throw invalid(`/${strange}`, `property ${strange} should not exist`);
    if (!Array.isArray(playbooks)) throw invalid('/playbooks', 'playbooks must be a list');
    return members(playbooks, '/playbooks');
  }
  return document === undefined || document === null ? [] : [{ value: document, pointer: '' }];
}

const members = (list: readonly unknown[], parent: string): DocumentItem[] =>
  list.map((value, index) => ({ value, pointer: `${parent}/${index}` }));

const invalid = (pointer: string, detail: string): Problem =>
  new Problem('invalid_request', detail, { errors: [{ pointer, detail }] });

const importRoute = '/api/v1/playbooks/import';
/** Of everything else than `content`, which has its own limit. */
const maxDepth = 64;
/** Imports of YAML at a time: one is read, the others wait. Each takes a thread and, made for it, 512 MB and ten seconds. */
const mostYaml = 5;
/** A thousand playbooks take one or two. A text that is made to take long (40,000 keys in one map) takes minutes. */
const timeoutMs = 10_000;
const heapMb = 512;

/** Import over REST: everything that is wrong is named at once, and then nothing is stored. */
@Injectable()
export class PlaybookImportService implements OnModuleInit {
  private readonly dtos = new DtoPipe();
  private readonly yamlReading = new KeyedMutex();
  private yamlTexts = 0;

  constructor(
    private readonly catalogue: PlaybookCatalogueService,
    private readonly http: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    acceptYaml(this.http.httpAdapter.getInstance<FastifyInstance>(), importRoute);
  }

  /**
   * @param body JSON as it was parsed, or YAML as bytes
   * @throws Problem `invalid_request` or `conflict`, with an entry for each wrong field of each playbook; `rate_limited` for
   * YAML while too many others wait
   */
  async import(body: unknown, importedBy: string): Promise<ImportResult> {
    const errors: FieldProblem[] = [];
    const items: ImportItem[] = [];
    for (const item of itemsOf(Buffer.isBuffer(body) ? await this.yaml(body) : body)) {
      try {
        items.push({ playbook: await this.validated(item), pointer: item.pointer });
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        const found = error.details.errors ?? [{ pointer: '', detail: error.detail }];
        errors.push(...found.map(({ pointer, detail }) => ({ pointer: item.pointer + pointer, detail })));
      }
    }
    if (errors.length > 0) {
      const [first] = errors;
      const more = errors.length > 1 ? `, and ${errors.length - 1} more` : '';
      throw new Problem(
        'invalid_request',
        `Nothing was imported: ${first?.pointer}: ${first?.detail}${more}`,
        {
          errors,
        },
      );
    }
    return this.catalogue.import(items, importedBy);
  }

  private async yaml(text: Buffer): Promise<unknown> {
    if (this.yamlTexts >= mostYaml) {
      const detail = `${mostYaml} imports of YAML are read or wait already; JSON does not wait`;
      throw new Problem('rate_limited', detail, { retryAfterMs: 5_000 });
    }
    this.yamlTexts++;
    try {
      return await this.yamlReading.run('yaml', () => readYaml(text));
    } finally {
      this.yamlTexts--;
    }
  }

  private async validated({ value }: DocumentItem): Promise<CreatePlaybookBody> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Problem('invalid_request', 'must be an object: a playbook');
    }
    // YAML has not passed the body's own check.
    if (isDeeperThan(value, maxDepth)) throw new Problem('invalid_request', 'is nested too deep');
    return this.dtos.read(CreatePlaybookBody, value);
  }
}

/**
 * Reads YAML in a thread of its own, which ends with it: nothing else waits for it, however it is nested.
 * @throws Problem `invalid_request` when it cannot be read, or not in time
 */
async function readYaml(bytes: Buffer): Promise<unknown> {
  const reader = new WorkerCalls<string, string>(new URL('./yaml.worker.js', import.meta.url), {
    name: 'YAML',
    heapMb,
    timeLimitMs: timeoutMs,
  });
  try {
    return JSON.parse(await reader.call(yamlText(bytes))) as unknown;
  } catch (error) {
    const detail = `The YAML cannot be read: ${(error as Error).message.split('\n')[0]}`;
    throw new Problem('invalid_request', detail, { errors: [{ pointer: '', detail }] });
  } finally {
    await reader.stop();
  }
}
