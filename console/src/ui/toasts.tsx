import { Toast } from '@base-ui/react/toast';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import css from './toasts.module.css';

/** Short messages about what was just done; they go by themselves, and are read out. */
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
    </Toast.Root>
  ));
}

/** @returns a function that shows a toast */
export function useToast(): (title: string, text?: string) => void {
  const { add } = Toast.useToastManager();
  return (title, text) => add({ title, ...(text !== undefined && { description: text }) });
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
