import type { ReactNode } from 'react';
import { Clamped } from '../../ui/clamped.js';
import { Muted } from '../../ui/layout.js';
import type { AskedTool, Message } from './messages.js';
import css from './conversation.module.css';

/** The server hands over up to a mebibyte a span; a browser draws more than this slowly. */
const maxCharacters = 20_000;
const shortened = (text: string): string =>
  text.length > maxCharacters ? `${text.slice(0, maxCharacters)} … (cut; whole under Raw)` : text;

/** Messages with their roles, and calls of tools with their results. */
export const Conversation = ({ messages }: { readonly messages: readonly Message[] }): ReactNode => (
  <ol className={css.messages}>
    {messages.map(({ role, text, calls }, index) => (
      <li key={index} className={css.message} data-role={role}>
        <span className={css.role}>{role}</span>
        {text !== '' && <Said text={text} />}
        {calls.map((call, at) => (
          <ToolUse key={at} call={call} />
        ))}
      </li>
    ))}
  </ol>
);

const Said = ({ text }: { readonly text: string }): ReactNode => (
  <div className={css.text}>
    <Clamped text={shortened(text)} />
  </div>
);

/** A call of a tool with its result. */
export const ToolUse = ({ call }: { readonly call: AskedTool }): ReactNode => (
  <div className={css.call}>
    {call.name !== '' && <code>{call.name}</code>}
    <Said text={call.input === '' ? 'no arguments' : call.input} />
    {call.result === undefined ? <Muted>no result here</Muted> : <Said text={call.result} />}
  </div>
);
