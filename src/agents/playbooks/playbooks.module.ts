import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PlaybookImportService } from './import/playbook-import.service.js';
import { PlaybookCatalogueService } from './playbook-catalogue.service.js';
import { PlaybookSkills } from './playbook-skills.js';
import { PlaybookVersionsController } from './playbook-versions.controller.js';
import { PlaybooksController } from './playbooks.controller.js';
import { PlaybooksRepository } from './playbooks.repository.js';
import { ShownPlaybooks } from './shown/shown-playbooks.js';

/** The catalogue of playbooks: their versions, outcomes and usage. */
@Module({
  // TypeORM closes its connections after the modules that import it, so that ShownPlaybooks can store its last rows.
  imports: [TypeOrmModule.forFeature([])],
  controllers: [PlaybooksController, PlaybookVersionsController],
  providers: [
    PlaybooksRepository,
    PlaybookCatalogueService,
    PlaybookImportService,
    PlaybookSkills,
    ShownPlaybooks,
  ],
  exports: [PlaybooksRepository, PlaybookCatalogueService, PlaybookSkills, ShownPlaybooks],
})
export class PlaybooksModule {}
