import type { ReactNode } from 'react';
import { piecesOf } from '../lib/ansi.js';
import css from './ansi-text.module.css';

/** Text as a terminal would show it, in the colours of the page. */
export const AnsiText = ({ children }: { readonly children: string }): ReactNode => (
  <span className={css.text}>
    {piecesOf(children).map(({ text, colour, isBold }, index) => (
      <span key={index} data-colour={colour} data-bold={isBold ? '' : undefined}>
        {text}
      </span>
    ))}
  </span>
);
