import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useProjects } from '../lib/project.js';
import { useSession } from '../lib/session.js';
import { Note } from './layout.js';
import { Empty } from './states.js';

interface EmptyListProps {
  /** Name of the rows, in the plural. */
  readonly of: string;
  /** A filter other than the project is set. */
  readonly isFiltered: boolean;
  /** Shown beside the reason. */
  readonly hint?: ReactNode;
  /** Shown if there is no row in any project. */
  readonly children: ReactNode;
}

/** Text of a list without rows, which explains whether filters or the project exclude them. */
export function EmptyList({ of, isFiltered, hint, children }: EmptyListProps): ReactNode {
  const { project, projects, hasAll, inProject } = useProjects();
  const { anonymous, projects: allowed } = useSession();
  const isNarrowed = project !== undefined && projects.length > 1;
  const ofOthers = anonymous && allowed !== null && (
    <Note tone="none">Sign in to see the {of} of all callers and projects.</Note>
  );
  if (!isFiltered && !isNarrowed)
    return (
      <>
        {children}
        {ofOthers}
      </>
    );
  return (
    <Empty title={`No ${of}${isFiltered ? ' match these filters' : ''}${isNarrowed ? inProject : ''}`}>
      {hint}
      {ofOthers}
      {isNarrowed && hasAll && (
        <Link to="." search={(old) => ({ ...old, project: undefined })}>
          Show all projects
        </Link>
      )}
    </Empty>
  );
}
