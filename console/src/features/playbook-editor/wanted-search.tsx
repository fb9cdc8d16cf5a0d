import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { explainedSearchQuery, type PlaybookSearch } from '../../lib/playbook-queries.js';
import { missingWords, standingText, type Standing, standingOf } from '../../lib/playbook-standing.js';
import { Button, Tags } from '../../ui/controls.js';
import { Card, Facts, Row, Stack } from '../../ui/layout.js';
import type { PlaybookFieldsProps } from './playbook-form.js';

/** The playbook's standing for the query that it is written for; undefined while that is not known. */
export function useStanding(search: PlaybookSearch, id: string): Standing | undefined {
  const { data } = useQuery(explainedSearchQuery(search));
  return search.q === undefined || !data ? undefined : standingOf(data.candidates, id);
}

interface WantedSearchProps extends Pick<PlaybookFieldsProps, 'draft' | 'onChange'> {
  readonly search: PlaybookSearch;
}

/** Maximum length of a signal or an alias. */
const maxPhraseLength = 200;

const lists = { signals: 'Add to signals', aliases: 'Add to also called' } as const;

/** Shows the query that should find the playbook and what keeps it out, and offers to add the query as a signal or alias. */
export function WantedSearch({ search, draft, onChange }: WantedSearchProps): ReactNode {
  const { q = '', labels, threshold } = search;
  const { data } = useQuery(explainedSearchQuery(search));
  const candidate = data?.candidates.find(({ playbook_id }) => playbook_id === draft.playbook_id);
  const standing = data && candidate && standingOf(data.candidates, candidate.playbook_id);
  const missing = candidate ? missingWords(q, candidate) : [];
  return (
    <Card title="It should be found by">
      <Stack>
        <Facts
          facts={[
            ['Query', q],
            ['Labels', labels],
            ['Min confidence', threshold],
            ['Now', standing && standingText(standing)],
            ['Why', candidate?.removed_by && candidate.reason],
            ['Missing words', missing.length > 0 && <Tags key="missing" words={missing} />],
          ]}
        />
        {q.length <= maxPhraseLength && (
          <Row>
            {(['signals', 'aliases'] as const).map((list) => (
              <Button
                key={list}
                small
                disabled={draft[list]?.includes(q) === true}
                onClick={() => onChange({ [list]: [...(draft[list] ?? []), q] })}
              >
                {lists[list]}
              </Button>
            ))}
          </Row>
        )}
      </Stack>
    </Card>
  );
}
