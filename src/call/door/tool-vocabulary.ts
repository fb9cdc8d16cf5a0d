import { stemmer } from 'stemmer';
import { everyday, type Vocabulary } from '../../base/lexical-search/vocabulary.js';

/** Acts as tools are named after them, each with other words that agents use for it. */
const acts =
  'list enumerate show give overview find, describe detail inspect view info information, create add make new register, ' +
  'update change edit modify alter correct rename, delete remove erase drop destroy purge rid, start launch, ' +
  'stop halt terminate kill, cancel abort, restart reboot, rotate renew replace reissue regenerate, ' +
  'export download dump, import upload ingest, archive shelve, restore recover undo, approve accept confirm, ' +
  'enable activate, disable deactivate suspend, copy clone duplicate, sync synchronise synchronize, send notify';

const synonyms = acts.split(', ').flatMap((words) => {
  const [act = '', ...others] = words.split(' ').map(stemmer);
  return others.map((other) => [other, act] as const);
});

export const toolVocabulary: Vocabulary = { ...everyday, synonyms: new Map(synonyms) };

const question = /^what\b|\b(which|how many|who (is|are))\b/gi;

/** A question about things asks for their list. */
export const asAct = (query: string): string => query.replace(question, 'list');
