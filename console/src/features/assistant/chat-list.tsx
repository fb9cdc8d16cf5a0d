import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask, deleteChat, listChats } from '../../lib/api.js';
import { Badge, Button } from '../../ui/controls.js';
import { Icon } from '../../ui/icons.js';
import { Loaded } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { useFailed } from '../../ui/toasts.js';
import css from './assistant.module.css';

export const chatsQuery = queryOptions({
  queryKey: ['assistant', 'chats'],
  queryFn: ({ signal }) => ask(listChats({ query: { limit: 100 }, signal })),
});

interface ChatListProps {
  readonly onOpen: (id: string) => void;
  readonly onDeleted: (id: string) => void;
}

/** The person's chats, the last used first. */
export function ChatList({ onOpen, onDeleted }: ChatListProps): ReactNode {
  const client = useQueryClient();
  const failed = useFailed();
  const remove = useMutation({
    mutationFn: (id: string) => ask(deleteChat({ path: { id } })),
    onSuccess: (_, id) => {
      onDeleted(id);
      return client.invalidateQueries({ queryKey: ['assistant'] });
    },
    onError: failed,
  });
  return (
    <Loaded query={useQuery({ ...chatsQuery, refetchOnMount: 'always' })}>
      {({ data }) =>
        data.length === 0 ? (
          <p className={css.start}>There are no chats yet.</p>
        ) : (
          <ul className={css.chats} aria-label="Chats">
            {data.map(({ id, title, state, updatedAt }) => (
              <li key={id}>
                <button type="button" className={css.open} onClick={() => onOpen(id)}>
                  <bdi>{title || 'New chat'}</bdi>
                  <span className={css.time}>
                    <Time at={updatedAt} />
                  </span>
                  {['running', 'waiting'].includes(state) && <Badge state={state} tone="warn" />}
                </button>
                <Button
                  small
                  look="quiet"
                  aria-label={`Delete ${title || 'New chat'}`}
                  disabled={remove.isPending}
                  onClick={() => remove.mutate(id)}
                >
                  <Icon name="close" />
                </Button>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
