import { Toast } from '@base-ui/react/toast';
import { type ReactNode, useEffect, useEffectEvent, useRef } from 'react';
import { buttonLook } from './controls.js';
import { Icon } from './icons.js';
import css from './toasts.module.css';

export interface Message {
  readonly title: string;
  readonly description?: string;
  readonly type?: 'error';
  /** Milliseconds; 0 for none. */
  readonly timeout?: number;
  readonly priority?: 'high';
}

/** @param messages all messages of this visit; those that were added last are shown */
export const ToastList = ({ messages }: { readonly messages: readonly Message[] }): ReactNode => (
  <Toast.Provider timeout={4_000}>
    <Toast.Portal>
      <Toast.Viewport className={css.viewport}>
        <Shown messages={messages} />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
);

function Shown({ messages }: { readonly messages: readonly Message[] }): ReactNode {
  const { toasts, add } = Toast.useToastManager();
  const count = useRef(0);
  const addNew = useEffectEvent(() => {
    for (const message of messages.slice(count.current)) add(message);
    count.current = messages.length;
  });
  useEffect(() => addNew(), [messages]);
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
