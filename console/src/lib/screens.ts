/** The screens of the rail, in the order in which an operator asks; what does not work yet is not here. */
export const screens = [
  { to: '/', name: 'Overview', icon: 'overview' },
  { to: '/tools', name: 'Tools', icon: 'tools' },
  { to: '/executions', name: 'Executions', icon: 'executions' },
  { to: '/investigations', name: 'Investigations', icon: 'investigations' },
  { to: '/playbooks', name: 'Playbooks', icon: 'playbooks' },
  { to: '/events', name: 'Events', icon: 'events' },
] as const;
