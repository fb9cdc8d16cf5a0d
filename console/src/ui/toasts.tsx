import { Toast } from '@base-ui/react/toast';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { asApiError } from '../lib/api.js';
import { buttonLook } from './controls.js';
import { Icon } from './icons.js';
import css from './toasts.module.css';

/** Short messages, which are read out: what was done goes by itself, what failed stays until it is closed. */
export function Toasts({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <Toast.Provider timeout={4_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className={css.viewport}>
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList(): ReactNode {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={css.toast}>
      <Toast.Title className={css.title} />
      <Toast.Description className={css.text} />
      {toast.type === 'error' && (
        <Toast.Close className={`${buttonLook('quiet', true)} ${css.close}`} aria-label="Close">
          <Icon name="close" />
        </Toast.Close>
      )}
    </Toast.Root>
  ));
}

/** @returns a function that shows a toast */
export function useToast(): (title: string, text?: string) => void {
  const { add } = Toast.useToastManager();
  return (title, text) => add({ title, ...(text !== undefined && { description: text }) });
}

/** @returns a function that shows the error of an act. A session that has ended is left to the sign-in dialog. */
export function useFailed(): (error: unknown) => void {
  const { add } = Toast.useToastManager();
  return (error) => {
    const { title, message, status } = asApiError(error);
    if (status !== 401) add({ title, description: message, type: 'error', timeout: 0, priority: 'high' });
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
