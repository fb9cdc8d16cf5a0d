import { Injectable } from '@nestjs/common';
import { normalisedLabels } from '../label-filter.js';
import type { PlaybookAnswer, PlaybookSearch } from '../playbook-source.js';
import { PlaybookIndex } from '../catalogue/playbook-index.js';
import type { PlaybookAnswerView } from './playbook-search.shapes.js';

/** Playbooks that one explanation lists; `playbook_id` reaches every other one. */
const mostExplained = 200;

/** A search over REST. */
export interface AuthorsQuery extends PlaybookSearch {
  readonly explain: boolean;
  /** Explains this one only. */
  readonly explainOnly: string | undefined;
}

/** Search for people: what the LLM would get, and on demand why it is what it is. */
@Injectable()
export class PlaybookSearchService {
  constructor(private readonly index: PlaybookIndex) {}

  async search(query: AuthorsQuery): Promise<PlaybookAnswer> {
    return query.explain ? this.explain(query) : (await this.index.find(query)).answer;
  }

  private async explain(query: AuthorsQuery): Promise<PlaybookAnswerView> {
    const { answer, explained, degraded, revision } = await this.index.explain(query);
    const { explainOnly } = query;
    const wanted = explained.filter(
      ({ playbook_id }) => explainOnly === undefined || playbook_id === explainOnly,
    );
    return {
      playbooks: [...answer.playbooks],
      total_results: answer.total_results,
      explanation: {
        catalogue_revision: revision,
        min_confidence: query.similarityThreshold,
        max_results: query.limit,
        labels: Object.fromEntries(
          [...normalisedLabels(query.labels)].map(([key, values]) => [key, values.join(', ')]),
        ),
        degraded: degraded ?? null,
        candidates: wanted.slice(0, mostExplained),
        total_candidates: wanted.length,
      },
    };
  }
}
