import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { duration } from '../../lib/format.js';
import { Badge, Button } from '../../ui/controls.js';
import { Row } from '../../ui/layout.js';
import css from './assistant.module.css';
import type { CallPart } from './ui-message.js';

interface CallCardProps {
  readonly call: CallPart;
  readonly isRunning: boolean;
  readonly onDecide: (approve: boolean) => void;
}

const words: Readonly<Record<string, string>> = {
  'input-available': 'not finished',
  'approval-requested': 'waits for you',
  'approval-responded': 'agreed',
  'output-error': 'not run',
  'output-denied': 'declined',
};

const tones: Readonly<Record<string, 'good' | 'warn' | 'bad' | 'none'>> = {
  success: 'good',
  running: 'none',
  'waits for you': 'warn',
  error: 'bad',
  timeout: 'bad',
};

/** One call of a tool: its input, its result and time, and the way to its execution. */
export function CallCard({ call, isRunning, onDecide }: CallCardProps): ReactNode {
  const { toolName, input, output, state, errorText } = call;
  const isOpen = state === 'input-available' || (state === 'approval-responded' && call.approval?.approved);
  const status = output?.status ?? (isOpen && isRunning ? 'running' : (words[state] ?? state));
  const result = output?.error
    ? `${output.error.type}: ${output.error.message}`
    : (output?.result ?? errorText);
  const asks = state === 'approval-requested';
  return (
    <div className={css.call} data-asks={asks || undefined}>
      <details open={asks}>
        <summary>
          <bdi className={css.tool}>{toolName}</bdi>
          <Badge state={status} tone={tones[status] ?? 'none'} />
          {output?.executionTimeMs !== undefined && (
            <span className={css.time}>{duration(output.executionTimeMs)}</span>
          )}
        </summary>
        <Json label={`Input of ${toolName}`} value={input} />
        {result !== undefined && <Json label={`Result of ${toolName}`} value={result} />}
        {output?.executionId !== undefined && (
          <Link to="/executions/$id" params={{ id: output.executionId }}>
            Execution
          </Link>
        )}
      </details>
      {asks && (
        <div role="group" aria-label={`Approval of ${toolName}`} className={css.approval}>
          <span>It may change something or reach out. Run this call?</span>
          <Row>
            <Button small look="primary" disabled={isRunning} onClick={() => onDecide(true)}>
              Approve
            </Button>
            <Button small disabled={isRunning} onClick={() => onDecide(false)}>
              Decline
            </Button>
          </Row>
        </div>
      )}
    </div>
  );
}

const shownCharacters = 20_000;

/** Text that tools wrote is shown as text. */
function Json({ label, value }: { readonly label: string; readonly value: unknown }): ReactNode {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'nothing');
  return (
    <pre className={css.json} tabIndex={0} aria-label={label}>
      {text.length > shownCharacters ? `${text.slice(0, shownCharacters)}\n…` : text}
    </pre>
  );
}
