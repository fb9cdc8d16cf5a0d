import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import {
  type ReactNode,
  useContext,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { NeedsScope } from '../../app/needs-scope.js';
import { pageOf } from '../../bridge/navigation.js';
import { LinkContext, usePageLink } from '../../bridge/use-page.js';
import { cost, counted, number } from '../../lib/format.js';
import { Button } from '../../ui/controls.js';
import { Icon } from '../../ui/icons.js';
import { Loaded } from '../../ui/states.js';
import { useCopy } from '../../ui/use-copy.js';
import css from './assistant.module.css';
import { ChatList, chatsQuery } from './chat-list.js';
import { Composer } from './composer.js';
import { MessageList } from './message-list.js';
import { Thread, type ThreadState } from './thread.js';
import { asMarkdown, textOf } from './message-contents.js';
import type { UiMessage } from './ui-message.js';

interface AgentPanelProps {
  /** The chat to show; absent: a new one. */
  readonly thread: string | undefined;
  readonly onThread: (id: string | undefined) => void;
  /** The profile: there is one. */
  readonly agent?: 'default';
  /** Names of tools to tell of in a new chat; absent: those of the page. */
  readonly tools?: readonly string[];
  /** Shown until the chat is loaded, and in a new one. */
  readonly initialMessages?: readonly UiMessage[];
  /** Absent: that of the console. */
  readonly theme?: 'light' | 'dark';
  /** Words for the composer to begin with. */
  readonly question?: string | undefined;
  readonly onClose: () => void;
}

/** A chat with the assistant, beside the screen. */
export function AgentPanel({ theme, onClose, ...props }: AgentPanelProps): ReactNode {
  return (
    <section
      aria-label="Assistant"
      className={css.panel}
      data-agent={props.agent ?? 'default'}
      style={theme && { colorScheme: theme }}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <NeedsScope
        scope="tools:call"
        title="The assistant needs a key"
        why="It calls the tools that your key may call, and stores your chats."
      >
        <SignedIn {...props} onClose={onClose} />
      </NeedsScope>
    </section>
  );
}

function SignedIn(props: Omit<AgentPanelProps, 'theme'>): ReactNode {
  const chats = useQuery(chatsQuery);
  return (
    <Loaded query={chats} within={(state) => <Framed onClose={props.onClose}>{state}</Framed>}>
      {({ model }) =>
        model === null ? (
          <Framed onClose={props.onClose}>
            <NotConfigured />
          </Framed>
        ) : (
          <Chat {...props} model={model} />
        )
      }
    </Loaded>
  );
}

const NotConfigured = (): ReactNode => (
  <div className={css.start}>
    <h3>No language model is configured</h3>
    <p>
      Everything else works without one. To use the assistant, set these variables and restart the server:
    </p>
    <ul>
      <li>
        <code>LLM_BASE_URL</code>, an OpenAI-compatible endpoint such as{' '}
        <code>https://api.openai.com/v1</code>
      </li>
      <li>
        <code>LLM_MODEL</code>, the model&apos;s name
      </li>
      <li>
        <code>LLM_API_KEY</code>, if the endpoint needs a key
      </li>
    </ul>
  </div>
);

interface FramedProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

const Framed = ({ title = 'Assistant', actions, onClose, children }: FramedProps): ReactNode => (
  <>
    <header className={css.head}>
      <h2>
        <bdi>{title}</bdi>
      </h2>
      {actions}
      <Button small look="quiet" aria-label="Close the assistant" onClick={onClose}>
        <Icon name="close" />
      </Button>
    </header>
    {children}
  </>
);

interface ChatProps extends Omit<AgentPanelProps, 'theme'> {
  readonly model: string;
}

function Chat({ onThread, question, tools, model, onClose, ...props }: ChatProps): ReactNode {
  const { thread, state } = useThread(props.thread, onThread, props.initialMessages);
  const [rewound, setRewound] = useState<UiMessage>();
  const [isListing, setListing] = useState(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const page = usePage();
  useEffect(() => input.current?.focus(), [isListing, question, rewound]);
  const open = (wanted: string | undefined): void => {
    setListing(false);
    setRewound(undefined);
    if (wanted === undefined) onThread(undefined);
    void thread.open(wanted);
  };
  const say = (message: string): void => {
    setRewound(undefined);
    void thread.say({ message, page: page.read(), uiSession: page.uiSession, insteadOf: rewound?.id });
  };
  return (
    <Framed
      title={isListing ? 'Chats' : (state.chat?.title ?? '') || 'Assistant'}
      onClose={onClose}
      actions={
        <Acts
          isListing={isListing}
          messages={state.messages}
          onList={() => setListing(!isListing)}
          onNew={() => open(undefined)}
        />
      }
    >
      {isListing ? (
        <ChatList onOpen={open} onDeleted={(gone) => gone === state.id && open(undefined)} />
      ) : (
        <>
          {state.messages.length === 0 && !state.isLoading ? (
            <Start tools={tools ?? page.tools} />
          ) : (
            <MessageList thread={thread} state={state} onRewind={setRewound} />
          )}
          <Composer
            key={rewound?.id ?? question ?? ''}
            ref={input}
            initial={rewound ? textOf(rewound) : (question ?? '')}
            isRunning={state.state === 'running'}
            isRewinding={rewound !== undefined}
            onSay={say}
            onStop={() => void thread.stop()}
            onCancel={() => setRewound(undefined)}
          />
          <Figures state={state} model={model} />
        </>
      )}
    </Framed>
  );
}

/** A chat and its stream, for as long as the panel is open. */
function useThread(
  id: string | undefined,
  onThread: ChatProps['onThread'],
  initial: readonly UiMessage[] = [],
) {
  const [thread] = useState(() => new Thread(initial));
  const state = useSyncExternalStore(thread.subscribe, thread.read);
  const show = useEffectEvent((wanted: string | undefined) => {
    if (wanted !== thread.read().id) void thread.open(wanted);
  });
  const tell = useEffectEvent((shown: string | undefined) => {
    // A new chat gets its id with its first message.
    if (shown !== undefined) onThread(shown);
  });
  useEffect(() => show(id), [id]);
  useEffect(() => tell(state.id), [state.id]);
  useEffect(() => () => thread.leave(), [thread]);
  return { thread, state };
}

interface ActsProps {
  readonly isListing: boolean;
  readonly messages: readonly UiMessage[];
  readonly onList: () => void;
  readonly onNew: () => void;
}

function Acts({ isListing, messages, onList, onNew }: ActsProps): ReactNode {
  const copy = useCopy();
  return (
    <>
      <Button small look="quiet" aria-pressed={isListing} onClick={onList}>
        Chats
      </Button>
      <Button small look="quiet" onClick={onNew}>
        New
      </Button>
      {messages.length > 0 && !isListing && (
        <Button small look="quiet" onClick={() => void copy(asMarkdown(messages), 'The chat as Markdown')}>
          Copy all
        </Button>
      )}
    </>
  );
}

const Start = ({ tools }: { readonly tools: readonly string[] }): ReactNode => (
  <div className={css.start}>
    <p>Ask about an execution, a trace, a tool or a playbook. The assistant sees which screen you are on.</p>
    <p>Calls that change something or reach other hosts wait until you approve them.</p>
    {tools.length > 0 && (
      <p>
        On this page it can use{' '}
        {tools.map((name, place) => (
          <span key={name}>
            {place > 0 && ', '}
            <code>{name}</code>
          </span>
        ))}
        .
      </p>
    )}
  </div>
);

/** Steps, calls, tokens and cost of the chat, and its limits. */
function Figures({
  state: { usage, chat },
  model,
}: {
  readonly state: ThreadState;
  readonly model: string;
}): ReactNode {
  if (!usage || !chat) return <p className={css.figures}>{model}</p>;
  const { limits, investigationId } = chat;
  const tokens = number(usage.inputTokens + usage.outputTokens);
  const price = usage.cost === null ? '' : `, ${cost(usage.cost)} of ${cost(limits.cost)}`;
  return (
    <p className={css.figures} title={`Investigation ${investigationId}`}>
      {`${model}: ${counted(usage.steps, 'step')}, ${counted(usage.calls, 'call')}, ${tokens} of ${number(limits.tokens)} tokens${price}`}
    </p>
  );
}

interface PageAccess {
  /** The open screen, described for the model. */
  readonly read: () => object;
  /** The tab that tools of the page act on; undefined: it is not connected. */
  readonly uiSession: string | undefined;
  /** Names of the tools that the page answers. */
  readonly tools: readonly string[];
}

function usePage(): PageAccess {
  const router = useRouter();
  const link = useContext(LinkContext);
  const { session } = usePageLink();
  return {
    read: () => {
      const { route, context } = pageOf(router);
      return { url: route, ...context };
    },
    uiSession: session,
    tools: session === undefined ? [] : (link?.tools.names() ?? []),
  };
}
