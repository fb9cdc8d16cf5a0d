import { useQuery } from '@tanstack/react-query';
import type { CustomToolView } from '../../lib/api.js';
import { customToolsQuery } from '../../lib/queries.js';

interface Registration {
  /** Undefined for a tool that needs none, and for a name that nothing has. */
  readonly custom: CustomToolView | undefined;
  /** False while an old list is fetched again: it lacks what came since. */
  readonly isCertain: boolean;
}

/** The executable or MCP server that is registered under a name. */
export function useRegistration(name: string): Registration {
  const { data, isFetching } = useQuery(customToolsQuery);
  const custom = data?.find((each) => each.name === name);
  return { custom, isCertain: custom !== undefined || !isFetching };
}
