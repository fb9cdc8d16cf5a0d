import type { ReactNode } from 'react';
import { Clamped } from '../../ui/clamped.js';
import { Muted } from '../../ui/layout.js';
import type { MessageView } from '../../lib/api.js';
import css from './trace.module.css';

/** The server hands over up to a mebibyte a span; a browser draws more than this slowly. */
const maxCharacters = 20_000;

/** Messages with their roles, and calls of tools with their results. */
export const Conversation = ({ messages }: { readonly messages: readonly MessageView[] }): ReactNode => (
  <ol className={css.messages}>
    {messages.map(({ role, text, calls }, index) => (
      <li key={index} className={css.message} data-role={role}>
        <span className={css.role}>{role}</span>
        {text !== '' && <Said text={text} />}
        {calls.map((call, at) => (
          <div key={at} className={css.call}>
            {call.name !== '' && <code>{call.name}</code>}
            <Said text={call.input === '' ? 'no arguments' : call.input} />
            {call.result === null ? <Muted>no result here</Muted> : <Said text={call.result} />}
          </div>
        ))}
      </li>
    ))}
  </ol>
);

const Said = ({ text }: { readonly text: string }): ReactNode => (
  <div className={css.text}>
    <Clamped
      text={text.length > maxCharacters ? `${text.slice(0, maxCharacters)} … (cut; whole under Raw)` : text}
    />
  </div>
);
