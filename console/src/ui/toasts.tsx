import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  lazy,
  type ReactNode,
  Suspense,
  useCallback,
  useContext,
  useEffect,
  useState,
} from 'react';
import { asApiError, unconfirmed } from '../lib/api.js';
import type { Message } from './toast-list.js';

// Loaded later, because most visits show none.
const ToastList = lazy(() => import('./toast-list.js').then(({ ToastList: it }) => ({ default: it })));

const Show = createContext<(message: Message) => void>(() => undefined);

/** Short messages, which are read out. Successes disappear; failures stay until they are closed. */
export function Toasts({ children }: { readonly children: ReactNode }): ReactNode {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const show = useCallback((message: Message) => setMessages((all) => [...all, message]), []);
  useEffect(() => {
    const warn = (event: Event): void =>
      show({
        title: 'Not confirmed by all replicas',
        description: `It is done, but not confirmed by ${(event as CustomEvent<string>).detail}: see Fleet.`,
        ...{ type: 'error', timeout: 0, priority: 'high' },
      });
    unconfirmed.addEventListener('missing', warn);
    return () => unconfirmed.removeEventListener('missing', warn);
  }, [show]);
  return (
    <Show value={show}>
      {children}
      <Suspense>{messages.length > 0 && <ToastList messages={messages} />}</Suspense>
    </Show>
  );
}

/** @returns a function that shows a toast */
export function useToast(): (title: string, text?: string) => void {
  const show = useContext(Show);
  return (title, text) => show({ title, ...(text !== undefined && { description: text }) });
}

/** @returns a function that shows the error of an action. The sign-in dialog handles an ended session. */
export function useFailed(): (error: unknown) => void {
  const show = useContext(Show);
  return (error) => {
    const { title, message, status } = asApiError(error);
    if (status !== 401) show({ title, description: message, type: 'error', timeout: 0, priority: 'high' });
  };
}

/**
 * For use after a change of data.
 * @param changed first parts of the keys of the queries to refetch
 * @returns a function that refetches the queries and shows a toast
 */
export function useDone(...changed: readonly string[]): (title: string, text: string) => void {
  const client = useQueryClient();
  const toast = useToast();
  return (title, text) => {
    for (const about of changed) void client.invalidateQueries({ queryKey: [about] });
    toast(title, text);
  };
}
