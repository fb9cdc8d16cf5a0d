import { useMutation } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import { asApiError, type CustomToolCreate, type CustomToolView } from '../../lib/api.js';
import type { Act } from '../../lib/act.js';
import { sendExactly } from '../../lib/calls.js';
import { useDraft } from '../../lib/drafts.js';
import { jsonObjectOf } from '../../lib/json-object.js';
import { asCurl } from '../../lib/snippets.js';
import { Button } from '../../ui/controls.js';
import { CopyAs } from '../../ui/copy-as.js';
import { Card, Row, Stack } from '../../ui/layout.js';
import { Empty, Loading, Problem } from '../../ui/states.js';
import { ToolForm } from './tool-form.js';
import css from './register.module.css';
import { TrialResult } from './trial-result.js';
import { useTrial } from './use-trial.js';

const CodeEditor = lazy(() =>
  import('../../ui/code-editor.js').then(({ CodeEditor: it }) => ({ default: it })),
);

export type Mode = 'command' | 'json' | 'mcp';

interface ToolEditorProps {
  readonly initial: Partial<CustomToolCreate>;
  readonly mode: Mode;
  /** Its name is given and cannot change. */
  readonly isKnown: boolean;
  /** The addresses to which the settings are sent. */
  readonly save: Omit<Act, 'body'>;
  readonly trial: Omit<Act, 'body'>;
  readonly saveName: string;
  readonly onSaved: (tool: CustomToolView) => void;
}

const useSaving = (act: Act, onSuccess: (tool: CustomToolView) => void) =>
  useMutation({ mutationFn: () => sendExactly<CustomToolView>(act), onSuccess });

/** The settings of a tool beside what it does with them: it is tried before it is saved. */
export function ToolEditor(props: ToolEditorProps): ReactNode {
  const { initial, mode, isKnown, save, saveName, onSaved } = props;
  const { text, setText, isChanged, forget } = useDraft(
    `${save.method} ${save.path} ${mode === 'mcp'}`,
    JSON.stringify(initial, null, 2),
  );
  const permitted = useAct('tools:admin');
  const tool: Partial<CustomToolCreate> | undefined = jsonObjectOf(text);
  const { trial, log, run, cancel } = useTrial(props.trial, text);
  const saving = useSaving({ ...save, body: text }, (saved) => {
    forget();
    onSaved(saved);
  });
  const failure = [saving, trial].find(({ error }) => error && error.name !== 'AbortError')?.error;
  const problem = failure && asApiError(failure);
  if (!permitted) return <Empty title="Your key may not register or change tools" />;
  return (
    <div className={css.editor}>
      <Card title="Settings">
        <Stack>
          {mode === 'json' || !tool ? (
            <Suspense fallback={<Loading />}>
              <CodeEditor label="Settings as JSON" value={text} onChange={setText} />
            </Suspense>
          ) : (
            <ToolForm
              tool={tool}
              isServer={mode === 'mcp'}
              isKnown={isKnown}
              problems={problem?.fields ?? []}
              onChange={(changes) => setText(JSON.stringify({ ...tool, ...changes }, null, 2))}
            />
          )}
          {problem && <Problem problem={problem} />}
          <Row>
            <Button onClick={() => permitted(() => trial.mutate())} disabled={!tool || trial.isPending}>
              Try
            </Button>
            {trial.isPending && <Button onClick={cancel}>Cancel</Button>}
            <Button
              look="primary"
              onClick={() => permitted(() => saving.mutate())}
              disabled={!tool || saving.isPending}
            >
              {saveName}
            </Button>
            {isChanged && <Button onClick={forget}>Start over</Button>}
            <CopyAs forms={{ curl: () => asCurl({ ...save, body: text }, window.location.origin) }} />
          </Row>
        </Stack>
      </Card>
      <div aria-live="polite">
        {trial.isPending && log.length === 0 && <Loading lines={4} />}
        {trial.isIdle && <NotTried />}
        {!trial.isIdle && <TrialResult trial={trial.data} log={log} run={run} />}
      </div>
    </div>
  );
}

const NotTried = (): ReactNode => (
  <Empty title="Nothing was tried yet">
    <p>
      A trial starts the program in its sandbox, asks it who it is and what it takes, and shows what it
      writes. Nothing is kept.
    </p>
  </Empty>
);
