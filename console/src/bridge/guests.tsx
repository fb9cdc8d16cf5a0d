import { useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, grantUiPage, revokeUiPage } from '../lib/api.js';
import { Button } from '../ui/controls.js';
import { Note, Row } from '../ui/layout.js';
import { Time } from '../ui/time.js';
import { useFailed } from '../ui/toasts.js';
import css from './guests.module.css';
import type { Guest, UiAct } from './page-link.js';
import { usePageLink } from './use-page.js';

const may = 'see what this page shows, open other screens, and change and run experiments with your rights';

/** Other keys that ask to act on the page or do so, and what agents have done on it. */
export function Guests(): ReactNode {
  const { session, guests, acts, forgetActs } = usePageLink();
  const failed = useFailed();
  if (session === undefined) return null;
  const current = guests.filter(({ until }) => Date.parse(until) > Date.now());
  const decide = (act: typeof grantUiPage, { id: caller }: Guest): void =>
    void ask(act({ path: { id: session, caller } })).catch(failed);
  const shown = acts.filter(({ by, tool }) => by !== null || tool in changes);
  return (
    <div className={css.guests}>
      {current
        .filter(({ status }) => status === 'asked')
        .map((guest) => (
          <Note key={guest.id} tone="warn" alert>
            <p>
              <Key guest={guest} /> asks to act on this page for 30 minutes: it may {may}.
            </p>
            <Row>
              <Button small look="primary" onClick={() => decide(grantUiPage, guest)}>
                Allow
              </Button>
              <Button small onClick={() => decide(revokeUiPage, guest)}>
                Decline
              </Button>
            </Row>
          </Note>
        ))}
      {current
        .filter(({ status }) => status === 'granted')
        .map((guest) => (
          <Note key={guest.id}>
            <Key guest={guest} /> may {may}, until {timeOf(guest.until)}.{' '}
            <Button small look="danger" onClick={() => decide(revokeUiPage, guest)}>
              End
            </Button>
          </Note>
        ))}
      {shown.length > 0 && <Trail acts={shown} onClear={forgetActs} />}
    </div>
  );
}

const Key = ({ guest: { id, name } }: { readonly guest: Guest }): ReactNode => (
  <>
    <bdi>{name}</bdi>
    {id !== 'anonymous' && (
      <>
        {' '}
        (key <code>{id}</code>)
      </>
    )}
  </>
);

const timeOf = (iso: string): string =>
  new Date(iso).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });

/** Tools that change what the page shows, in words. */
const changes: Readonly<Record<string, (input: UiAct['input']) => string>> = {
  navigate_to: ({ url }) => `opened ${String(url)}`,
  navigate_to_experiment: ({ spanId }) => `opened an experiment from the span ${String(spanId)}`,
  apply_label_filter: ({ labels = [] }) => `filtered by the labels ${[labels].flat().join(', ') || '(none)'}`,
  highlight_spans: () => 'highlighted spans',
  apply_experiment_data: () => 'changed the experiment',
  run_experiment: () => 'ran the experiment',
};

function Trail({ acts, onClear }: { acts: readonly UiAct[]; onClear: () => void }): ReactNode {
  const last = acts.at(-1);
  return (
    <Note>
      <div className={css.last} role="status">
        {last && <Act key={last.callId} act={last} />}
        <Button small look="quiet" onClick={onClear}>
          Clear
        </Button>
      </div>
      {acts.length > 1 && (
        <details>
          <summary>{`All ${acts.length} acts`}</summary>
          <ol className={css.acts}>
            {acts.map((act) => (
              <li key={act.callId}>
                <Act act={act} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </Note>
  );
}

function Act({ act: { tool, input, by, at, from } }: { readonly act: UiAct }): ReactNode {
  const router = useRouter();
  const what = changes[tool]?.(input) ?? `called ${tool}`;
  return (
    <span className={css.act}>
      <bdi>{by?.name ?? 'The assistant'}</bdi> <span className={css.what}>{what}</span> <Time at={at} />{' '}
      <Button
        small
        look="quiet"
        aria-label={`Back to ${from}`}
        onClick={() => void router.navigate({ href: from })}
      >
        Back
      </Button>
    </span>
  );
}
