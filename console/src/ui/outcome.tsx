import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { OutcomeView } from '../lib/api.js';
import { counted, duration } from '../lib/format.js';
import { Badge, Tag } from './controls.js';
import { JsonText } from './json-text.js';
import { Card, Muted, Note, Row } from './layout.js';

/** The outcome of a call that ran. */
export function Outcome({
  outcome,
  title = 'Result',
}: {
  readonly outcome: OutcomeView;
  readonly title?: string;
}): ReactNode {
  const { executionId, status, executionTimeMs, attempts, cached, result, error } = outcome;
  return (
    <Card
      title={title}
      flush
      actions={
        <Row>
          <Badge state={status} />
          <Muted>{duration(executionTimeMs)}</Muted>
          {attempts > 1 && <Muted>{counted(attempts, 'attempt')}</Muted>}
          {cached && <Tag>cached result</Tag>}
          {!cached && (
            <Link to="/executions/$id" params={{ id: executionId }}>
              Record
            </Link>
          )}
        </Row>
      }
    >
      {error && (
        <Note tone="bad" alert>
          <strong>{error.type}</strong>: {error.message}
        </Note>
      )}
      {(result !== undefined || error?.data !== undefined) && (
        <JsonText label={title} value={result ?? error?.data} />
      )}
    </Card>
  );
}
