import { stemmer } from 'stemmer';
import { everyday, type Vocabulary } from '../../base/lexical-search/vocabulary.js';

/** Acts as tools are named after them, each with other words that agents ask for it by. */
const acts = `
  list enumerate show give overview
  delete remove erase drop destroy purge rid
  create add make new register
  update change edit modify alter correct rename
  rotate renew replace reissue regenerate
  describe detail inspect view info information
  export download dump
  import upload ingest
  archive shelve
  restore recover undo
  restart reboot
  stop halt terminate kill
  start launch
  cancel abort
  approve accept confirm
  enable activate
  disable deactivate suspend
  copy clone duplicate
  sync synchronise synchronize
  send notify`;

export const toolVocabulary: Vocabulary = {
  ...everyday,
  synonyms: new Map(
    acts
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [act = '', ...others] = line.trim().split(' ').map(stemmer);
        return others.map((other) => [other, act] as const);
      }),
  ),
};

const question = /^what\b|\b(which|how many|who (is|are))\b/gi;

/** A question about things asks for their list. */
export const asAct = (query: string): string => query.replace(question, 'list');
