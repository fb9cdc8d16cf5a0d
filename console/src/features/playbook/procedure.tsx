import type { ReactNode } from 'react';
import { isObject } from '../../lib/exact-json.js';
import { words } from '../../lib/format.js';
import { Tag } from '../../ui/controls.js';
import { JsonText } from '../../ui/json-text.js';
import { Facts, Row } from '../../ui/layout.js';
import { Snippet } from '../../ui/snippet.js';
import css from './procedure.module.css';

type Members = Readonly<Record<string, unknown>>;

/** The steps of a procedure that has some, each with a name; undefined for any other shape. */
function stepsOf(content: unknown): readonly Members[] | undefined {
  const steps: unknown = isObject(content) ? content['steps'] : undefined;
  if (!Array.isArray(steps) || steps.length === 0) return undefined;
  const found = steps.filter(isObject).filter(({ name }) => typeof name === 'string');
  return found.length === steps.length ? found : undefined;
}

/** A procedure: its steps in order with their commands, or what it is as JSON. */
export function Procedure({ content }: { readonly content: unknown }): ReactNode {
  const steps = stepsOf(content);
  if (!steps || !isObject(content)) return <JsonText label="Procedure" value={content} />;
  const { steps: _, ...rest } = content;
  return (
    <div className={css.procedure}>
      <ol className={css.steps} aria-label="Steps">
        {steps.map((step, index) => (
          <Step key={index} step={step} />
        ))}
      </ol>
      <Facts facts={factsOf(rest)} />
    </div>
  );
}

function Step({
  step: { name, action, description, command, ...rest },
}: {
  readonly step: Members;
}): ReactNode {
  return (
    <li className={css.step}>
      <Row>
        <h3>{String(name)}</h3>
        {typeof action === 'string' && <Tag>{action}</Tag>}
      </Row>
      {[description, command].map(
        (text, index) =>
          typeof text === 'string' &&
          (text === command || isCommand(text) ? (
            <Snippet key={index} name="command" text={text} />
          ) : (
            <p key={index}>{text}</p>
          )),
      )}
      <Facts facts={factsOf(rest)} />
    </li>
  );
}

/** Sentences begin with a capital letter, commands with the name of a program. */
const isCommand = (text: string): boolean => /^[a-z][\w./-]* /.test(text);

const factsOf = (members: Members) =>
  Object.entries(members).map(
    ([name, value]) => [words(name), typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
