import type { ReactNode } from 'react';
import type { OutcomeView } from '../lib/api.js';
import { useDraft } from '../lib/drafts.js';
import { useCancellable } from '../lib/use-cancellable.js';
import { Button } from './controls.js';
import { InputEditor } from './input-editor.js';
import { Card, Columns, Row, Stack } from './layout.js';
import { Outcome } from './outcome.js';
import { Loading, Problem } from './states.js';

interface CallPanelProps {
  readonly schema: Readonly<Record<string, unknown>>;
  /** Sends the input, as JSON text. */
  readonly run: (inputText: string, signal: AbortSignal) => Promise<OutcomeView>;
  /** Beside the button: what the call counts as, and how to copy it. */
  readonly options?: (inputText: string) => ReactNode;
  /** The name under which what was typed survives a reload. */
  readonly draft: string;
}

/** An input, the button that runs it, and what came of it. A call that takes long can be cancelled. */
export function CallPanel({ schema, run, options, draft }: CallPanelProps): ReactNode {
  const { text, setText } = useDraft(draft, '{}');
  const { failure, ...call } = useCancellable((signal) => run(text, signal));
  return (
    <Columns>
      <Card title="Input">
        <Stack>
          <InputEditor schema={schema} text={text} onText={setText} problems={failure?.fields ?? []} />
          <Row>
            <Button look="primary" onClick={call.start} disabled={call.isPending}>
              Run
            </Button>
            {call.isPending && <Button onClick={call.cancel}>Cancel</Button>}
            {options?.(text)}
          </Row>
        </Stack>
      </Card>
      <div aria-live="polite">
        {call.isPending && <Loading lines={3} />}
        {failure && !call.isPending && <Problem problem={failure} />}
        {call.data && !call.isPending && <Outcome outcome={call.data} />}
      </div>
    </Columns>
  );
}
