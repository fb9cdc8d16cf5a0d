import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { IntervalLoop } from '../../common/interval-loop.js';
import { KeyedMutex } from '../../common/keyed-mutex.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { TableFollower } from '../../database/table-follower.js';
import { KnownKeys } from '../known-keys.js';
import { KeysRepository } from './keys.repository.js';

/** When a key was used last is worth no statement for each request. */
const usesEveryMs = 10_000;

/**
 * Keeps the keys in memory what the table holds, whichever replica changes it, and tells the table when keys were used.
 * While the database is away the keys that were good stay so, until their own time is over.
 */
@Injectable()
export class KeyFollower implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(KeyFollower.name);
  /** One look after another: an older answer must not bring a revoked key back. */
  private readonly oneAtATime = new KeyedMutex();
  private readonly follower: TableFollower;
  private readonly uses: IntervalLoop;
  private revision: string | undefined;

  constructor(
    @Inject(APP_CONFIG) { auth }: Pick<AppConfig, 'auth'>,
    { options }: DataSource,
    private readonly repository: KeysRepository,
    private readonly known: KnownKeys,
  ) {
    const followed = { what: 'the API keys', channel: 'api_keys', intervalMs: auth.keysRefreshMs };
    this.follower = new TableFollower(options, followed, () => this.look());
    this.uses = new IntervalLoop(
      () => this.writeUses(),
      usesEveryMs,
      (error) => this.logger.warn(error, 'When keys were used last could not be written'),
    );
  }

  /** A server that listens knows its keys. */
  async onModuleInit(): Promise<void> {
    await this.look();
  }

  onApplicationBootstrap(): void {
    this.follower.start();
    this.uses.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.follower.stop();
    await this.uses.stop();
    await this.writeUses().catch(() => undefined);
  }

  /** What was changed here holds here when this is over; elsewhere within a second. */
  look(): Promise<void> {
    return this.oneAtATime.run('look', async () => {
      if ((await this.repository.revision()) !== this.revision) {
        const { revision, keys } = await this.repository.good();
        this.known.replace(keys);
        this.revision = revision;
      }
      this.known.forgetExpired();
    });
  }

  async writeUses(): Promise<void> {
    const used = this.known.takeUsed();
    if (used.size > 0) await this.repository.used(used);
  }
}
