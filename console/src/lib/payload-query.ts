import { queryOptions } from '@tanstack/react-query';
import { ApiError, ask, getExecutionPayload, type PayloadView } from './api.js';

/** The captured payload of an execution; null where none was captured, or its time is over. For the scope `tools:admin`. */
export const payloadQuery = (id: string, mayRead: boolean) =>
  queryOptions({
    queryKey: ['executions', 'payload', id],
    queryFn: async ({ signal }): Promise<PayloadView | null> => {
      try {
        return await ask(getExecutionPayload({ path: { id }, signal }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
    enabled: mayRead,
  });
