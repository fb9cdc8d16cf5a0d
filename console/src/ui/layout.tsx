import { type ReactNode, useEffect } from 'react';
import { useListOfThing, useProjects } from '../lib/project.js';
import { Tag } from './controls.js';
import css from './layout.module.css';

/** A component that is an element with a class. */
function box(className: string | undefined, Element: 'div' | 'span' | 'p' = 'div') {
  return function Box({ children }: { readonly children: ReactNode }): ReactNode {
    return <Element className={className}>{children}</Element>;
  };
}

interface PageProps {
  /** The title of the browser's tab. */
  readonly name: string;
  readonly title?: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

function Heading({ name, title, about, actions }: Omit<PageProps, 'children'>): ReactNode {
  useEffect(() => {
    document.title = `${name} · Toolkeeper`;
  }, [name]);
  return (
    <header className={css.head}>
      <div className={css.title}>
        <h1>{title ?? name}</h1>
        <OwnProject />
        {about !== undefined && <p className={css.about}>{about}</p>}
      </div>
      {Boolean(actions) && <div className={css.actions}>{actions}</div>}
    </header>
  );
}

/** The project of the thing that is shown, if there are several. */
function OwnProject(): ReactNode {
  const { project, projects } = useProjects();
  return useListOfThing() && project !== undefined && projects.length > 1 && <Tag>project {project}</Tag>;
}

/** A screen for reading: a heading, its actions, and content that scrolls with the document. */
export const Page = ({ children, ...heading }: PageProps): ReactNode => (
  <>
    <Heading {...heading} />
    {children}
  </>
);

/** A screen for working: as high as the window and as wide as the shell. Its content has its own scrollers. */
export const Workspace = ({ children, ...heading }: PageProps): ReactNode => (
  <div className={css.workspace} data-workspace>
    <Heading {...heading} />
    <div className={css.work}>{children}</div>
  </div>
);

/** The bar at the bottom of a workspace, such as the actions of an editor. It stays in view. */
export const Foot = box(css.foot);

interface CardProps {
  readonly title: string;
  readonly actions?: ReactNode;
  /** The content has its own padding, like tables. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}

export function Card({ title, actions, flush = false, children }: CardProps): ReactNode {
  return (
    <section className={css.card}>
      <div className={css.cardHead}>
        <h2>{title}</h2>
        {actions}
      </div>
      <div className={flush ? undefined : css.cardBody}>{children}</div>
    </section>
  );
}

/** A section without a heading of its own. */
export const Panel = box(css.card);

export const Stack = ({ tight = false, children }: { tight?: boolean; children: ReactNode }): ReactNode => (
  <div className={`${css.stack} ${tight ? css.tight : ''}`}>{children}</div>
);

export const Row = box(css.row);
export const Columns = box(css.columns);

/** Names with their values, in the order of display. */
export type Pairs = readonly (readonly [name: string, value: ReactNode])[];

/** The figures at the top of a screen. */
export const Figures = ({ figures }: { figures: Pairs }): ReactNode => (
  <dl className={css.figures}>
    {figures.map(([name, value]) => (
      <div key={name} className={css.figure}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** Names with their values. Names without a value are left out. */
export const Facts = ({ facts }: { facts: Pairs }): ReactNode => (
  <dl className={css.facts}>
    {facts
      .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
      .map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
  </dl>
);

export const Muted = box(css.muted, 'span');

const notes = { good: css.noteGood, warn: css.noteWarn, bad: css.noteBad, none: '' } as const;

/** An important sentence. `alert` is read out as soon as it appears. */
export const Note = ({
  tone = 'none',
  alert = false,
  children,
}: {
  tone?: keyof typeof notes;
  alert?: boolean;
  children: ReactNode;
}): ReactNode => (
  <div className={`${css.note} ${notes[tone]}`} role={alert ? 'alert' : undefined}>
    {children}
  </div>
);

/** Notices at the top of a screen; may be empty. */
export const Notes = box(`${css.stack} ${css.tight} ${css.notes}`);

export const Centered = box(css.centered, 'p');
