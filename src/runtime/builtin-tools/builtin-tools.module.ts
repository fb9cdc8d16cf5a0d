import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:net';
import { portOf } from '../../base/outbound/addresses.js';
import { Replicas } from '../../base/database/replicas.js';
import { Contributors } from '../../base/observability/contributors.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import type { Tool } from '../../web/contract/tool.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { filesPart, readFile, SharedFolder, writeFile } from './files/files.tool.js';
import { ProjectFiles } from './files/project-files.js';
import { WebSearch, webSearch } from './search/web-search.js';
import { MailTransport, sendEmail } from './send/send-email.tool.js';
import { sendWebhook } from './send/send-webhook.tool.js';
import { DocumentReader } from './web/document-reader.js';
import { fetchPage, fetchUrls, Pages } from './web/pages.js';
import { OutboundHttp } from './web/outbound-http.js';

/** Registers the built-in tools that BUILTIN_TOOLS names. */
@Module({ imports: [ToolsModule] })
export class BuiltinToolsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly reader: DocumentReader;
  private readonly search: WebSearch | undefined;
  /** Undefined without an external database, so with one replica only, or without a tool for files. */
  private readonly folder: SharedFolder | undefined;

  constructor(
    @Inject(APP_CONFIG) { builtinTools, database }: AppConfig,
    registry: ToolRegistry,
    host: HttpAdapterHost,
    replicas: Replicas,
    contributors: Contributors,
  ) {
    const { enabled, search, mail, webhookSecret, ...settings } = builtinTools;
    this.reader = new DocumentReader(settings.page);
    this.search = search && new WebSearch(search);
    const files = new ProjectFiles(settings.filesDir, settings.files);
    const hasFiles = enabled.has('readFile') || enabled.has('writeFile');
    const folder = hasFiles && database.url ? new SharedFolder(settings.filesDir, replicas) : undefined;
    this.folder = folder;
    if (folder) contributors.addHealth(filesPart, () => folder.health());
    const ifShared = (tool: Tool): Tool => folder?.guarded(tool) ?? tool;
    const http = new OutboundHttp(settings.outbound, () =>
      portOf(host.httpAdapter.getHttpServer() as Server),
    );
    const pages = new Pages(http, this.reader, settings.page);
    const { timeoutMs } = settings.mailLimits;
    const tools: readonly (Tool | undefined)[] = [
      this.search && webSearch(this.search),
      fetchPage(pages),
      fetchUrls(pages),
      ifShared(readFile(files)),
      ifShared(writeFile(files)),
      webhookSecret === undefined ? undefined : sendWebhook(http, webhookSecret, settings.webhook),
      mail && sendEmail(new MailTransport(mail, timeoutMs), files, settings.mailLimits),
    ];
    for (const tool of tools) if (tool && enabled.has(tool.definition.name)) registry.register(tool);
  }

  onApplicationBootstrap(): void {
    this.folder?.loop.start(0);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.reader.stop(), this.search?.close(), this.folder?.loop.stop()]);
  }
}
