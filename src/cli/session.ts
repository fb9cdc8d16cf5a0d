import type { Command } from 'commander';
import type { Client } from '../client/client/index.js';
import { apiOf } from './api.js';
import { Output } from './output.js';
import { Surroundings } from './surroundings.js';

/** What a command works with. */
export interface Session {
  readonly client: Client;
  readonly out: Output;
}

interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
}

export const surroundingsOf = (command: Command): Surroundings =>
  new Surroundings(command.optsWithGlobals<GlobalOptions>());

export const outputOf = (command: Command): Output =>
  new Output(command.optsWithGlobals<GlobalOptions>().json === true);

export const sessionOf = (command: Command): Session => ({
  client: apiOf(surroundingsOf(command).server()),
  out: outputOf(command),
});
