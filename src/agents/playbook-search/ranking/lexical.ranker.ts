import { Injectable } from '@nestjs/common';
import { LexicalSearch, type Searched } from '../../../base/lexical-search/lexical-search.js';
import { everyday } from '../../../base/lexical-search/vocabulary.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import {
  type PlaybookRanker,
  type PlaybookRanking,
  type Ranked,
  type RankedPlaybook,
  type RankRequest,
  shownConfidence,
} from '../playbook-ranker.js';

/** Words of questions, which say nothing about an incident. */
const questionWords = 'help issue issues problem problems show find fix happening happened seeing see'.split(
  ' ',
);

/** Words and the term that they count as: short forms, and special cases of the term. */
const spellings = [
  ['lb', 'balancer'],
  ['ro', 'readonly'],
  ['oom', 'memory'],
  ['tls', 'certificate'],
  ['ssl', 'certificate'],
  ['saml', 'sso'],
  ['oidc', 'sso'],
  ['ipsec', 'vpn'],
  ['wireguard', 'vpn'],
  ['snat', 'nat'],
  ['crontab', 'cron'],
  ['cronjob', 'cron'],
  ['standby', 'replica'],
  ['follower', 'replica'],
  ['secondary', 'replica'],
  ['rabbit', 'rabbitmq'],
  ['opensearch', 'elasticsearch'],
] as const;

/** The searched texts of a playbook. Labels only filter, and `when_not_to_use` would match the wrong incidents. */
export const searchedTexts: Searched<SearchablePlaybook> = {
  fields: [
    { boost: 2, text: ({ name }) => name },
    { boost: 3, text: ({ signals }) => signals.join('\n') },
    { boost: 2, text: ({ aliases }) => aliases.join('\n') },
    { boost: 1, text: ({ description }) => description },
    { boost: 0.7, text: ({ when_to_use }) => when_to_use ?? '' },
    { boost: 0.5, text: ({ playbook_id }) => playbook_id },
  ],
  phrases: ({ signals, aliases }) => [...signals, ...aliases],
  vocabulary: {
    stopWords: new Set([...everyday.stopWords, ...questionWords]),
    spellings: new Map([...everyday.spellings, ...spellings]),
  },
};

/** Ranks by the words that a query shares with a playbook. */
@Injectable()
export class LexicalRanker implements PlaybookRanker {
  async prepare(catalogue: readonly SearchablePlaybook[]): Promise<PlaybookRanking> {
    const ids = catalogue.map((playbook) => playbook.playbook_id);
    return new LexicalRanking(ids, await LexicalSearch.of(catalogue, searchedTexts));
  }
}

class LexicalRanking implements PlaybookRanking {
  constructor(
    private readonly ids: readonly string[],
    private readonly search: LexicalSearch,
  ) {}

  async rank(request: RankRequest, candidates: ReadonlySet<string>): Promise<Ranked> {
    const { threshold, explain = false } = request;
    const { confidenceAt, matchedAt } = this.search.find(request.query);
    const playbooks: RankedPlaybook[] = [];
    for (let index = 0; index < this.ids.length; index++) {
      const confidence = confidenceAt(index);
      if (confidence <= 0 || (!explain && shownConfidence(confidence) < threshold)) continue;
      const playbookId = this.ids[index] ?? '';
      if (!candidates.has(playbookId)) continue;
      const explanation = explain && { lexical: confidence, cosine: null, matchedTerms: matchedAt(index) };
      playbooks.push({ playbookId, confidence, ...(explanation && { explanation }) });
    }
    playbooks.sort((a, b) => b.confidence - a.confidence || (a.playbookId < b.playbookId ? -1 : 1));
    return { playbooks };
  }
}
