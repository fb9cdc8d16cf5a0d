import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useEffectEvent, useRef, useState } from 'react';
import { tinykeys } from 'tinykeys';
import { Bridge } from '../bridge/bridge.js';
import { Guests } from '../bridge/guests.js';
import { isTyping } from '../lib/key-targets.js';
import { Live, useConnection } from '../lib/live.js';
import { WithDock } from '../ui/dock.js';
import { Note } from '../ui/layout.js';
import { Clock } from '../ui/time.js';
import { Toasts } from '../ui/toasts.js';
import { Rail } from './rail.js';
import css from './shell.module.css';
import { SignInGate } from './sign-in-gate.js';
import { TopBar } from './top-bar.js';

const Palette = lazy(() => import('./palette.js').then(({ Palette: it }) => ({ default: it })));
const KeyboardSheet = lazy(() =>
  import('./keyboard-sheet.js').then(({ KeyboardSheet: it }) => ({ default: it })),
);

/** Holds the keys that are typed while the palette loads. */
function useHeldKeys(isOpening: boolean, onCancel: () => void): () => string {
  const release = useRef((): string => '');
  const cancel = useEffectEvent(onCancel);
  useEffect(() => {
    if (!isOpening) return undefined;
    release.current = holdKeys(cancel);
    return () => void release.current();
  }, [isOpening]);
  return () => release.current();
}

/** The frame around every screen. @param beside what stands in the dock, whatever the screen is */
export function Shell({ beside }: { readonly beside: ReactNode }): ReactNode {
  const [isFinding, setFinding] = useState(false);
  const [isHelping, setHelping] = useState(false);
  const takeTyped = useHeldKeys(isFinding, () => setFinding(false));
  useEffect(() => {
    const help = (event: KeyboardEvent): void => {
      if (!isTyping(event)) setHelping(true);
    };
    return tinykeys(window, {
      '$mod+k': (event) => {
        event.preventDefault();
        setFinding(true);
      },
      '/': (event) => {
        if (!isTyping(event)) {
          event.preventDefault();
          setFinding(true);
        }
      },
      // `?` needs Shift on some keyboard layouts and not on others.
      'Shift+?': help,
      '?': help,
    });
  }, []);
  return (
    <Clock>
      <Toasts>
        <Live>
          <SignInGate>
            <Bridge>
              <div className={css.shell}>
                <a className={css.skip} href="#main">
                  Skip to content
                </a>
                <Rail onHelp={() => setHelping(true)} />
                <TopBar onFind={() => setFinding(true)} />
                <WithDock>
                  <Main />
                  {beside}
                </WithDock>
              </div>
              <Suspense>
                {isFinding && <Palette takeTyped={takeTyped} onClose={() => setFinding(false)} />}
                {isHelping && <KeyboardSheet onClose={() => setHelping(false)} />}
              </Suspense>
            </Bridge>
          </SignInGate>
        </Live>
      </Toasts>
    </Clock>
  );
}

function Main(): ReactNode {
  const connection = useConnection();
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const first = useRef(path);
  // Moves the focus to the new screen for screen readers. The palette may be open again by then.
  useEffect(() => {
    const isInDialog = document.activeElement?.closest('[role="dialog"]') != null;
    if (first.current !== path && !isInDialog) main.current?.focus({ preventScroll: true });
    first.current = path;
  }, [path]);
  return (
    <main id="main" ref={main} tabIndex={-1} className={css.main}>
      <div className={css.content}>
        {connection === 'lost' && (
          <div className={css.banner}>
            <Note tone="warn" alert>
              The connection to the server is lost. This page may be out of date until the server answers.
            </Note>
          </div>
        )}
        <Guests />
        <Outlet />
      </div>
    </main>
  );
}

/**
 * Holds back what is typed until the field that it is for is there to take it. Esc gives up.
 * @returns ends it, and gives what was typed meanwhile
 */
function holdKeys(onCancel: () => void): () => string {
  let typed = '';
  const hold = (event: KeyboardEvent): void => {
    const { key } = event;
    const isText = key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (key === 'Escape') onCancel();
    if (key === 'Backspace') typed = typed.slice(0, -1);
    if (isText) typed += key;
    if (!isText && !['Escape', 'Backspace', 'Enter'].includes(key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  window.addEventListener('keydown', hold, { capture: true });
  return () => {
    window.removeEventListener('keydown', hold, { capture: true });
    const held = typed;
    typed = '';
    return held;
  };
}
