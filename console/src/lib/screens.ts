/** The screens of the rail, in the order in which an operator asks, with the scope that each needs. */
export const screens = [
  { to: '/', name: 'Overview', icon: 'overview', scope: 'metrics:read' },
  { to: '/tools', name: 'Tools', icon: 'tools', scope: 'tools:call' },
  { to: '/executions', name: 'Executions', icon: 'executions', scope: 'metrics:read' },
  { to: '/investigations', name: 'Investigations', icon: 'investigations', scope: 'metrics:read' },
  { to: '/playbooks', name: 'Playbooks', icon: 'playbooks', scope: 'tools:call' },
  { to: '/events', name: 'Events', icon: 'events', scope: 'metrics:read' },
] as const;

/** The screens that a key opens. Callers without one get all of them: they can sign in. */
export const screensFor = ({ anonymous, scopes }: { anonymous: boolean; scopes: readonly string[] }) =>
  screens.filter(({ scope }) => anonymous || scopes.includes(scope));
