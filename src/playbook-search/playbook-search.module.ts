import { Module } from '@nestjs/common';
import { ToolsModule } from '../tools/tools.module.js';
import { EmbeddingsModule } from './embeddings/embeddings.module.js';
import { GetPlaybooksTool } from './get-playbooks.tool.js';
import { LexicalRanker } from './lexical.ranker.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import { PlaybookImporter } from './playbook-importer.js';
import { PlaybookIndex } from './playbook-index.js';
import { PLAYBOOK_RANKER } from './playbook-ranker.js';
import { PlaybooksController } from './playbooks.controller.js';
import { PlaybooksRepository } from './playbooks.repository.js';

/** The catalogue of playbooks, its search, and `get_playbooks`. */
@Module({
  imports: [EmbeddingsModule, ToolsModule],
  controllers: [PlaybooksController],
  providers: [
    PlaybooksRepository,
    PlaybookIndex,
    PlaybookCatalogueService,
    PlaybookImporter,
    GetPlaybooksTool,
    { provide: PLAYBOOK_RANKER, useClass: LexicalRanker },
  ],
  exports: [EmbeddingsModule, PlaybookCatalogueService],
})
export class PlaybookSearchModule {}
