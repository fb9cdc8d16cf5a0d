import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Act } from '../../lib/act.js';
import { asApiError, type PlaybookCreatedView } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { jsonObjectOf } from '../../lib/json-object.js';
import type { PlaybookSearch } from '../../lib/playbook-queries.js';
import { asCurl, asTypeScript } from '../../lib/snippets.js';
import { Button } from '../../ui/controls.js';
import { CopyAs } from '../../ui/copy-as.js';
import { Columns, Note, Page, Stack } from '../../ui/layout.js';
import { Empty, Loading } from '../../ui/states.js';
import type { Draft } from './draft.js';
import { SearchedFields } from './playbook-form.js';
import { ProcedureField } from './procedure-field.js';
import { VersionFields } from './version-fields.js';
import { WantedSearch } from './wanted-search.js';

const CodeEditor = lazy(() =>
  import('../../ui/code-editor.js').then(({ CodeEditor: it }) => ({ default: it })),
);

interface PlaybookEditorProps {
  readonly title: string;
  readonly about: string;
  readonly initial: Draft;
  /** Its id is given and cannot change. */
  readonly isKnown: boolean;
  /** What should find it. */
  readonly search: PlaybookSearch;
  readonly onSaved: (stored: PlaybookCreatedView) => void;
}

/** A new version as it is written; what is saved is its text as JSON. */
export function PlaybookEditor(props: PlaybookEditorProps): ReactNode {
  const { title, about, initial, isKnown, search, onSaved } = props;
  const [text, setText] = useState(() => JSON.stringify(initial, null, 2));
  const [isJson, setJson] = useState(false);
  const permitted = useAct('playbooks:write');
  const client = useQueryClient();
  const draft: Draft | undefined = jsonObjectOf(text);
  const act: Act = { method: 'POST', path: '/api/v1/playbooks', body: text };
  const saving = useMutation({
    mutationFn: () => sendExactly<PlaybookCreatedView>(act),
    onSuccess: async (stored) => {
      // The screen that comes next shows where the new version stands, not where the old one stood.
      await client.invalidateQueries({ queryKey: ['playbooks'] });
      onSaved(stored);
    },
  });
  const problem = saving.error ? asApiError(saving.error) : undefined;
  const actions = (
    <>
      <Button aria-pressed={isJson} onClick={() => setJson(!isJson)}>
        As JSON
      </Button>
      <CopySave act={act} />
      <Button
        look="primary"
        onClick={() => permitted?.(() => saving.mutate())}
        disabled={!draft || saving.isPending}
      >
        Save
      </Button>
    </>
  );
  if (!permitted)
    return (
      <Page name={title}>
        <Empty title="Your key may not write playbooks" />
      </Page>
    );
  return (
    <Page name={title} about={about} actions={actions}>
      <Stack>
        {problem && (
          <Note tone="bad" alert>
            <strong>{problem.title}</strong>: {problem.message}
          </Note>
        )}
        {isJson || !draft ? (
          <Suspense fallback={<Loading />}>
            <CodeEditor label="Playbook as JSON" value={text} onChange={setText} />
          </Suspense>
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

const CopySave = ({ act }: { readonly act: Act }): ReactNode => (
  <CopyAs
    forms={{
      curl: () => asCurl(act, window.location.origin),
      TypeScript: () => asTypeScript(act, window.location.origin),
    }}
  />
);

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
