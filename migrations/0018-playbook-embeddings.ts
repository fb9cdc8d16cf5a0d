import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Playbooks as vectors, one for each provider and text: replicas of two releases, which word the text of a playbook
 * differently, keep theirs beside each other.
 */
export class PlaybookEmbeddings1732200180000 implements MigrationInterface {
  readonly name = 'PlaybookEmbeddings1732200180000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE playbook_embeddings (
        provider_id text NOT NULL,
        playbook_id text NOT NULL,
        version text NOT NULL,
        -- SHA-256 of the text that was embedded
        text_hash text NOT NULL CHECK (text_hash ~ '^[0-9a-f]{64}$'),
        -- 32 bit floats, little-endian, of length 1: a quarter of the time of real[] to read
        vector bytea NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
        embedded_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (provider_id, playbook_id, version, text_hash),
        FOREIGN KEY (playbook_id, version) REFERENCES playbook_catalog ON DELETE CASCADE
      )`);
    // For the cascade.
    await runner.query(`
      CREATE INDEX playbook_embeddings_of ON playbook_embeddings (playbook_id, version)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE playbook_embeddings');
  }
}
