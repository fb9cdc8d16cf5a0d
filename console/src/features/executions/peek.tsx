import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { executionQuery } from '../../lib/queries.js';
import { Button, buttonLook } from '../../ui/controls.js';
import { ExecutionFacts } from '../../ui/execution-facts.js';
import { Icon } from '../../ui/icons.js';
import { Loaded } from '../../ui/states.js';
import css from './executions.module.css';

interface PeekProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** One execution beside the list; the list can still be gone through. */
export function Peek({ id, onClose }: PeekProps): ReactNode {
  const execution = useQuery(executionQuery(id));
  return (
    <aside className={css.peek} aria-label="Execution" tabIndex={-1}>
      <div className={css.peekHead}>
        <Link to="/executions/$id" params={{ id }} className={buttonLook('primary', true)}>
          Open
        </Link>
        <Button look="quiet" small onClick={onClose} aria-label="Close">
          <Icon name="close" />
        </Button>
      </div>
      <div className={css.peekBody}>
        <Loaded query={execution}>{(data) => <ExecutionFacts execution={data} />}</Loaded>
      </div>
    </aside>
  );
}
