import type { ReactNode } from 'react';
import { Dialog } from '../ui/dialog.js';
import css from './keyboard-sheet.module.css';
import shell from './shell.module.css';

const keys = [
  { what: 'Search or run a command; in a trace / searches its spans', pressed: ['Ctrl K', '/'] },
  { what: 'Open or close the assistant', pressed: ['Ctrl I'] },
  { what: 'Next and previous row of a list', pressed: ['J', 'K'] },
  { what: 'Open the selected row', pressed: ['Enter'] },
  { what: 'Close the open panel or dialog', pressed: ['Esc'] },
  { what: 'Run the input', pressed: ['Ctrl Enter'] },
  { what: 'In a trace: next error, zoom to the span', pressed: ['E', 'Z'] },
  { what: 'These keys', pressed: ['?'] },
] as const;

export function KeyboardSheet({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog open onClose={onClose} title="Keys">
      <dl className={css.keys}>
        {keys.map(({ what, pressed }) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              {pressed.map((key) => (
                <kbd key={key} className={shell.kbd}>
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
