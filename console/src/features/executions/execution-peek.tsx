import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { executionQuery } from '../../lib/queries.js';
import { buttonLook } from '../../ui/controls.js';
import { ExecutionFacts } from '../../ui/execution-facts.js';
import { Peek } from '../../ui/peek.js';
import { Loaded } from '../../ui/states.js';

interface ExecutionPeekProps {
  readonly id: string;
  readonly onClose: () => void;
}

export function ExecutionPeek({ id, onClose }: ExecutionPeekProps): ReactNode {
  const execution = useQuery(executionQuery(id));
  const open = (
    <Link to="/executions/$id" params={{ id }} className={buttonLook('primary', true)}>
      Open
    </Link>
  );
  return (
    <Peek label="Execution" open={open} onClose={onClose}>
      <Loaded query={execution}>{(data) => <ExecutionFacts execution={data} />}</Loaded>
    </Peek>
  );
}
