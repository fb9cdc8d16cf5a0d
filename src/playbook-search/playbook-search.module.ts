import { Module } from '@nestjs/common';
import { ToolsModule } from '../tools/tools.module.js';
import { CatalogueSource } from './catalogue-source.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { LexicalRanker } from './lexical.ranker.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import { PlaybookImporter } from './playbook-importer.js';
import { PlaybookIndex } from './playbook-index.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PLAYBOOK_SOURCE } from './playbook-source.js';
import { PlaybooksController } from './playbooks.controller.js';
import { PlaybooksRepository } from './playbooks.repository.js';

/** The catalogue of playbooks, its search, and `get_playbooks`. */
@Module({
  imports: [ToolsModule],
  controllers: [PlaybooksController],
  providers: [
    PlaybooksRepository,
    PlaybookIndex,
    PlaybookCatalogueService,
    PlaybookImporter,
    GetPlaybooksTool,
    { provide: PLAYBOOK_SOURCE, useClass: CatalogueSource },
    { provide: PLAYBOOK_RANKER, useClass: LexicalRanker },
  ],
  exports: [PlaybookCatalogueService],
})
export class PlaybookSearchModule {}
