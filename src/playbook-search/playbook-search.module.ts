import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ToolsModule } from '../tools/tools.module.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { LexicalRanker } from './ranking/lexical.ranker.js';
import { PlaybookCatalogueService } from './catalogue/playbook-catalogue.service.js';
import { PlaybookImporter } from './catalogue/playbook-importer.js';
import { PlaybookIndex } from './catalogue/playbook-index.js';
import { ShownPlaybooks } from './catalogue/shown/shown-playbooks.js';
import { ShownPlaybooksRepository } from './catalogue/shown/shown-playbooks.repository.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PlaybooksController } from './catalogue/playbooks.controller.js';
import { PlaybooksRepository } from './catalogue/playbooks.repository.js';

/** The catalogue of playbooks, its search, and `get_playbooks`. */
@Module({
  // TypeORM closes its connections after the modules that import it: what was shown is stored by then.
  imports: [ToolsModule, TypeOrmModule.forFeature([])],
  controllers: [PlaybooksController],
  providers: [
    PlaybooksRepository,
    PlaybookIndex,
    PlaybookCatalogueService,
    PlaybookImporter,
    ShownPlaybooksRepository,
    ShownPlaybooks,
    GetPlaybooksTool,
    { provide: PLAYBOOK_RANKER, useClass: LexicalRanker },
  ],
  exports: [PlaybookCatalogueService],
})
export class PlaybookSearchModule {}
