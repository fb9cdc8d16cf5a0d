import { useQuery } from '@tanstack/react-query';
import { CatchBoundary } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { tinykeys } from 'tinykeys';
import { ask, getChat } from '../../lib/api.js';
import { askEvent } from '../../lib/ask-assistant.js';
import { Docked } from '../../ui/dock.js';
import { Failed, Loading } from '../../ui/states.js';
import { Button } from '../../ui/controls.js';
import css from './assistant.module.css';

const AgentPanel = lazy(() => import('./agent-panel.js').then(({ AgentPanel: it }) => ({ default: it })));

/** The last chat of the tab survives a reload. */
const lastChat = 'toolkeeper.assistant';

/** The assistant's panel in the dock, which the key or a question opens. */
export function Assistant(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const [question, setQuestion] = useState<string>();
  const [thread, setThread] = useState(() => window.sessionStorage.getItem(lastChat) ?? undefined);
  useEffect(() => {
    const onAsk = (event: Event): void => {
      setQuestion((event as CustomEvent<string>).detail);
      setOpen(true);
    };
    window.addEventListener(askEvent, onAsk);
    const ignoreKeys = tinykeys(window, {
      '$mod+i': (event) => {
        event.preventDefault();
        setOpen((was) => !was);
      },
    });
    return () => {
      window.removeEventListener(askEvent, onAsk);
      ignoreKeys();
    };
  }, []);
  const keep = (id: string | undefined): void => {
    if (id === undefined) window.sessionStorage.removeItem(lastChat);
    else window.sessionStorage.setItem(lastChat, id);
    setThread(id);
  };
  if (!isOpen) return <Closed thread={thread} onOpen={() => setOpen(true)} />;
  return (
    <Docked>
      <CatchBoundary
        getResetKey={() => thread}
        errorComponent={({ error, reset }) => (
          <Failed
            error={error}
            retry={() => {
              keep(undefined);
              reset();
            }}
          />
        )}
      >
        <Suspense fallback={<Loading />}>
          <AgentPanel
            thread={thread}
            onThread={keep}
            question={question}
            onClose={() => {
              setOpen(false);
              setQuestion(undefined);
            }}
          />
        </Suspense>
      </CatchBoundary>
    </Docked>
  );
}

const closedTexts: Readonly<Record<string, string>> = {
  running: 'Assistant: working …',
  waiting: 'Assistant: waits for your approval',
};

/** The button that opens the panel again, while the tab's chat works or waits for a person. */
function Closed({ thread, onOpen }: { thread: string | undefined; onOpen: () => void }): ReactNode {
  const { data } = useQuery({
    queryKey: ['assistant', 'closed', thread],
    queryFn: ({ signal }) => ask(getChat({ path: { id: thread ?? '' }, signal })),
    enabled: thread !== undefined,
    refetchInterval: ({ state }) => ((state.data?.state ?? '') in closedTexts ? 2_000 : false),
    gcTime: 0,
  });
  const text = closedTexts[data?.state ?? ''];
  return (
    <div className={css.closed} role="status">
      {text !== undefined && <Button onClick={onOpen}>{text}</Button>}
    </div>
  );
}
