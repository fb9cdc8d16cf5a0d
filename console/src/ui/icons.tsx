import type { ReactNode } from 'react';
import css from './icons.module.css';

/** Line icons on a 24-pixel grid, hidden from screen readers: the control that holds one has a name. */
const paths = {
  overview: 'M3 13h6V4H3zM3 20h6v-3H3zM13 20h8v-9h-8zM13 4v3h8V4z',
  tools: 'M14.7 6.3a4 4 0 0 0-5.4 5L3 17.6V21h3.4l6.3-6.3a4 4 0 0 0 5-5.4L15 12l-3-3z',
  executions: 'M4 6h16M4 12h16M4 18h10',
  investigations: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  traces: 'M3 5h10M7 10h12M7 15h6M11 20h10',
  playbooks: 'M5 4h10a4 4 0 0 1 4 4v12H9a4 4 0 0 1-4-4zM5 16a4 4 0 0 1 4-4h10',
  experiments: 'M9 3h6M10 3v6l-5.2 9A2 2 0 0 0 6.5 21h11a2 2 0 0 0 1.7-3L14 9V3M8 14h8',
  events: 'M3 12h4l3-8 4 16 3-8h4',
  fleet: 'M4 4h16v6H4zM4 14h16v6H4zM7 7h.01M7 17h.01',
  connect: 'M9 7V3M15 7V3M6 7h12v4a6 6 0 0 1-12 0zM12 17v4',
  docs: 'M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 16h5',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 9.5v-5M8 19.5v-5',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  session: 'M14 4h5v16h-5M4 12h11M11 8l4 4-4 4',
  more: 'M5 11.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM12 11.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM19 11.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1z',
  close: 'M6 6l12 12M18 6L6 18',
  down: 'M6 9l6 6 6-6',
  plus: 'M12 5v14M5 12h14',
  check: 'M5 12.5l4.5 4.5L19 7',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8',
  collapse: 'M4 5h16v14H4zM9 5v14M16 9l-3 3 3 3',
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { name: IconName }): ReactNode => (
  <svg className={css.icon} viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
