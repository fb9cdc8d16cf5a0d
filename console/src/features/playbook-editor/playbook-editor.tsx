import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Act } from '../../lib/act.js';
import { asApiError, type PlaybookCreatedView } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { useDraft } from '../../lib/drafts.js';
import { jsonObjectOf } from '../../lib/exact-json.js';
import type { PlaybookSearch } from '../../lib/playbook-queries.js';
import { type Standing, textOfStanding } from '../../lib/playbook-standing.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Button } from '../../ui/controls.js';
import { CopyAs, formsOf } from '../../ui/copy-as.js';
import { Columns, Page, Stack } from '../../ui/layout.js';
import { StartOver } from '../../ui/start-over.js';
import { Empty, Problem } from '../../ui/states.js';
import { useToast } from '../../ui/toasts.js';
import type { Draft } from './draft.js';
import { ProcedureField, SearchedFields, VersionFields } from './playbook-form.js';
import { WantedSearch } from './wanted-search.js';

interface PlaybookEditorProps {
  readonly title: string;
  readonly about?: string;
  readonly initial: Draft;
  /** Whether the playbook exists already, so that its id cannot change. */
  readonly isKnown: boolean;
  /** The search that the playbook should match. */
  readonly search: PlaybookSearch;
  /** Rank of the stored version in that search; absent if it is unknown. */
  readonly before?: Standing | undefined;
}

/** An editor for a new version of a playbook; from a search it leads back to it when it is saved. The draft is stored as JSON text. */
export function PlaybookEditor(props: PlaybookEditorProps): ReactNode {
  const { title, about, initial, isKnown, search, before } = props;
  const written = useDraft(`playbook ${initial.playbook_id ?? ''}`, JSON.stringify(initial, null, 2));
  const { text, setText, forget } = written;
  const [isJson, setJson] = useState(false);
  const permitted = useAct('playbooks:write');
  const navigate = useNavigate();
  const toast = useToast();
  const saving = useSaving(text, ({ playbook_id: id, version }) => {
    forget();
    toast('Saved', `${id} ${version}`);
    const was = before && textOfStanding(before);
    if (search.q === undefined) void navigate({ to: '/playbooks/$id', params: { id } });
    else void navigate({ to: '/playbooks', search: { ...search, playbook: id, was } });
  });
  const draft: Draft | undefined = jsonObjectOf(text);
  const problem = saving.error ? asApiError(saving.error) : undefined;
  if (!permitted)
    return (
      <Page name={title}>
        <Empty title="Your API key lacks the scope playbooks:write" />
      </Page>
    );
  const actions = (
    <>
      <StartOver draft={written} />
      <Button aria-pressed={isJson} onClick={() => setJson(!isJson)}>
        As JSON
      </Button>
      <CopyAs forms={formsOf(() => actOf(text))} />
      <Button
        look="primary"
        onClick={() => permitted(() => saving.mutate())}
        disabled={!draft || saving.isPending}
      >
        Save
      </Button>
    </>
  );
  return (
    <Page name={title} about={about} actions={actions}>
      <Stack>
        {problem && <Problem problem={problem} />}
        {isJson || !draft ? (
          <CodeEditor label="Playbook as JSON" value={text} onChange={setText} />
        ) : (
          <Fields
            {...{ draft, isKnown, search, problems: problem?.fields ?? [] }}
            onChange={(changes) => setText(JSON.stringify({ ...draft, ...changes }, null, 2))}
          />
        )}
      </Stack>
    </Page>
  );
}

const actOf = (body: string): Act => ({ method: 'POST', path: '/api/v1/playbooks', body });

function useSaving(text: string, onSaved: (stored: PlaybookCreatedView) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => sendExactly<PlaybookCreatedView>(actOf(text)),
    onSuccess: async (stored) => {
      // Refetch before leaving, so that the next screen ranks the new version and not the old one.
      await client.invalidateQueries({ queryKey: ['playbooks'] });
      onSaved(stored);
    },
  });
}

type FieldsProps = Parameters<typeof VersionFields>[0] & Pick<PlaybookEditorProps, 'search'>;

function Fields({ search, ...fields }: FieldsProps): ReactNode {
  const { draft, onChange } = fields;
  return (
    <Stack>
      {search.q !== undefined && <WantedSearch search={search} draft={draft} onChange={onChange} />}
      <Columns>
        <SearchedFields {...fields} />
        <Stack>
          <ProcedureField {...fields} />
          <VersionFields {...fields} />
        </Stack>
      </Columns>
    </Stack>
  );
}
