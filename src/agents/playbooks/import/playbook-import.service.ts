import { bulkhead } from 'cockatiel';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CallerSlots } from '../../../base/common/caller-slots.js';
import { isDeeperThan } from '../../../base/common/json-depth.js';
import { type FieldProblem, Problem } from '../../../base/common/errors.js';
import { DtoPipe } from '../../../web/rest/dto.pipe.js';
import { WorkerCalls } from '../../../base/common/worker-calls.js';
import { type ImportItem, PlaybookCatalogueService } from '../playbook-catalogue.service.js';
import { CreatePlaybookBody } from '../playbook-bodies.dto.js';
import { yamlText, yamlToJson } from './yaml-documents.js';
import { refuseType } from '../../../web/rest/raw-body.js';
import { StartupWork } from '../../../base/common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { retryAtStart } from '../../../base/database/transient-error.js';
import type { PlaybookImportView } from '../playbook-views.dto.js';
import { isObject } from '../../../base/common/json.js';

export const yamlTypes = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'] as const;
const importRoute = '/api/v1/playbooks/import';

/** Max playbooks of one request. They are stored in one transaction, which blocks other changes. */
export const maxItems = 1_000;
/** Max depth of all members except `content`, which has its own limit. */
const maxDepth = 64;

/** Max size of a YAML text: about two thousand playbooks. */
const maxYamlBytes = 1_048_576;
/** Max imports of YAML at a time. One is read while the others wait. */
const maxYamlImports = 5;
/** Max imports of YAML at a time by one caller. */
const maxYamlImportsOfCaller = 3;
/**
 * Time to read a YAML text. A thousand playbooks take one or two seconds; a hostile text (40,000 keys in one map) takes
 * minutes.
 */
const yamlTimeoutMs = 10_000;
/** Memory limit of the thread that reads YAML. */
const yamlHeapMb = 512;

/** One playbook of a request, not validated yet. */
interface DocumentItem {
  readonly value: unknown;
  /** JSON pointer to the playbook. The documents of a YAML text count as one list. */
  readonly pointer: string;
}

/**
 * The playbooks of an import, which is a playbook, a list, or `{"playbooks": [...]}`.
 * @throws Problem `invalid_request` if there are none or too many
 */
export function itemsOf(document: unknown): DocumentItem[] {
  const items = listItems(document);
  if (items.length === 0) throw invalid('', 'There is no playbook to import');
  if (items.length > maxItems) throw invalid('', `At most ${maxItems} playbooks are imported at a time`);
  return items;
}

/** The playbooks of an import; may be empty. @throws Problem `invalid_request` for another form */
function listItems(document: unknown): DocumentItem[] {
  if (Array.isArray(document)) return members(document, '');
  if (isObject(document) && 'playbooks' in document) {
    const { playbooks, ...rest } = document;
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) throw invalid(`/${unknown}`, `property ${unknown} should not exist`);
    if (!Array.isArray(playbooks)) throw invalid('/playbooks', 'playbooks must be a list');
    return members(playbooks, '/playbooks');
  }
  return document === undefined || document === null ? [] : [{ value: document, pointer: '' }];
}

/** The members of a list, with their pointers. */
const members = (list: readonly unknown[], parent: string): DocumentItem[] =>
  list.map((value, index) => ({ value, pointer: `${parent}/${index}` }));

const invalid = (pointer: string, detail: string): Problem =>
  new Problem('invalid_request', detail, { errors: [{ pointer, detail }] });

/** Names of files by the result of their import. */
interface ImportReport {
  readonly imported: string[];
  readonly unchanged: string[];
  readonly failed: { readonly file: string; readonly reason: string }[];
}

/** Imports the playbooks of a request and, at the start, those of a folder. */
@Injectable()
export class PlaybookImportService implements OnModuleInit, OnApplicationBootstrap {
  private readonly logger = new Logger(PlaybookImportService.name);
  private readonly dtoPipe = new DtoPipe();
  /** Reads one YAML text at a time. */
  private readonly yamlReader = bulkhead(1, Infinity);
  private readonly yamlSlots = new CallerSlots(maxYamlImportsOfCaller, maxYamlImports);

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'playbooks'>,
    private readonly catalogue: PlaybookCatalogueService,
    private readonly http: HttpAdapterHost,
    private readonly startupWork: StartupWork,
  ) {}

  /** Accepts YAML as bytes on the import route; other routes answer 415. */
  onModuleInit(): void {
    this.http.httpAdapter
      .getInstance<FastifyInstance>()
      .addContentTypeParser(
        [...yamlTypes],
        { parseAs: 'buffer', bodyLimit: maxYamlBytes },
        (request, body, done) => {
          if (request.routeOptions.url === importRoute) done(null, body);
          else refuseType(request, done);
        },
      );
  }

  onApplicationBootstrap(): void {
    const folderImport = retryAtStart(() => this.importFolder());
    this.startupWork.register('playbooks', folderImport);
  }

  /**
   * Stores the folder's new versions; known ones stay unchanged. Bad files and a missing folder are only reported.
   * @throws the database's error
   */
  async importFolder(): Promise<ImportReport> {
    const { dir } = this.config.playbooks;
    const report: ImportReport = { imported: [], unchanged: [], failed: [] };
    for (const file of await this.filesIn(dir)) {
      try {
        const playbook = await this.readPlaybook(join(dir, file));
        const { imported } = await this.catalogue.import([{ playbook, pointer: '' }], 'import');
        report[imported.length > 0 ? 'imported' : 'unchanged'].push(file);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        const { code, detail } = error;
        const reason =
          code === 'conflict' ? `${detail} with other content: versions are immutable, raise it` : detail;
        this.logger.error({ file, reason }, `playbook file ${file} not imported: ${reason}`);
        report.failed.push({ file, reason });
      }
    }
    const { imported, unchanged, failed } = report;
    this.logger.log(
      `playbooks: ${imported.length} imported, ${unchanged.length} unchanged, ${failed.length} not valid`,
    );
    return report;
  }

  /** YAML files of a folder, sorted. */
  private async filesIn(dir: string): Promise<string[]> {
    try {
      return (await readdir(dir)).filter((file) => /\.ya?ml$/.test(file)).sort();
    } catch (error) {
      this.logger.warn(`no playbooks imported: ${(error as Error).message}`);
      return [];
    }
  }

  /** Reads a file of the folder. @throws Problem with a one-line reason if it is not a playbook */
  private async readPlaybook(path: string): Promise<CreatePlaybookBody> {
    try {
      return await this.toPlaybook(JSON.parse(yamlToJson(yamlText(await readFile(path)))));
    } catch (error) {
      throw new Problem('invalid_request', (error as Error).message.split('\n')[0] ?? '');
    }
  }

  /**
   * Stores all playbooks of a request or, if any is invalid, none.
   * @param body parsed JSON, or YAML as bytes
   * @param holder the caller, which may have `maxYamlImportsOfCaller` imports of YAML at a time
   * @throws Problem `invalid_request` or `conflict`, with an entry for each wrong field; `rate_limited` while too many
   * imports of YAML wait
   */
  async import(body: unknown, importedBy: string, holder: string): Promise<PlaybookImportView> {
    const errors: FieldProblem[] = [];
    const items: ImportItem[] = [];
    for (const item of itemsOf(Buffer.isBuffer(body) ? await this.parseYaml(body, holder) : body)) {
      try {
        items.push({ playbook: await this.toPlaybook(item.value), pointer: item.pointer });
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        for (const { pointer, detail } of error.details.errors ?? [{ pointer: '', detail: error.detail }])
          errors.push({ pointer: `${item.pointer}${pointer}`, detail });
      }
    }
    if (errors.length > 0) {
      const [first] = errors;
      const more = errors.length > 1 ? `, and ${errors.length - 1} more` : '';
      const detail = `Nothing was imported: ${first?.pointer}: ${first?.detail}${more}`;
      throw new Problem('invalid_request', detail, { errors });
    }
    return this.catalogue.import(items, importedBy);
  }

  /** Reads YAML when it is its turn. @throws Problem `rate_limited` while too many texts wait, `invalid_request` */
  private async parseYaml(text: Buffer, holder: string): Promise<unknown> {
    const release = this.yamlSlots.claim(holder, 'imports of YAML');
    return this.yamlReader.execute(() => readYaml(text)).finally(release);
  }

  /** Validates a playbook. @throws Problem `invalid_request` */
  private async toPlaybook(value: unknown): Promise<CreatePlaybookBody> {
    if (!isObject(value)) throw new Problem('invalid_request', 'must be an object: a playbook');
    // The check of request bodies does not cover YAML.
    if (isDeeperThan(value, maxDepth)) throw new Problem('invalid_request', 'is nested too deep');
    return this.dtoPipe.read(CreatePlaybookBody, value);
  }
}

/**
 * Reads YAML in a thread of its own, which ends afterwards, so that a hostile text delays nothing else.
 * @throws Problem `invalid_request` if it cannot be read, or not in time
 */
async function readYaml(bytes: Buffer): Promise<unknown> {
  const reader = new WorkerCalls<string, string>(new URL('./yaml.worker.js', import.meta.url), {
    name: 'YAML',
    heapMb: yamlHeapMb,
    timeLimitMs: yamlTimeoutMs,
  });
  try {
    return JSON.parse(await reader.call(yamlText(bytes))) as unknown;
  } catch (error) {
    throw invalid('', `The YAML cannot be read: ${(error as Error).message.split('\n')[0]}`);
  } finally {
    await reader.stop();
  }
}
