import { Autocomplete } from '@base-ui/react/autocomplete';
import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { allTools } from '../lib/all-tools.js';
import { somePlaybooksQuery } from '../lib/playbook-queries.js';
import { useMayOpen } from '../lib/may-open.js';
import { customToolsQuery, healthQuery, toolsQuery } from '../lib/queries.js';
import { endSession, usePermission } from '../lib/session.js';
import { consolePath } from '../lib/server-url.js';
import dialog from '../ui/dialog.module.css';
import { useFailed } from '../ui/toasts.js';
import { type Entry, entriesFor, signOut } from './palette-entries.js';
import css from './palette.module.css';

interface PaletteProps {
  /** Returns the keys that were typed while the palette loaded. */
  readonly takeTyped: () => string;
  readonly onClose: () => void;
}

/** Searches tools, playbooks, ids and screens, and runs commands. */
export function Palette({ takeTyped, onClose }: PaletteProps): ReactNode {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const entries = useEntries(typed);
  const failed = useFailed();
  const open = ({ to }: Entry): void => {
    onClose();
    if (to === signOut) endSession().catch(failed);
    else void navigate({ href: consolePath + to });
  };
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialog.backdrop} />
        <Dialog.Popup className={css.popup} aria-label="Search or run a command">
          <Autocomplete.Root
            open
            inline
            items={entries}
            filter={null}
            autoHighlight="always"
            keepHighlight
            value={typed}
            onValueChange={setTyped}
            itemToStringValue={({ name }: Entry) => name}
          >
            <Autocomplete.Input
              className={css.input}
              onFocus={() => {
                const before = takeTyped();
                setTyped((text) => text + before);
              }}
              aria-label="Search or run a command"
              placeholder="A tool, a playbook, an id of any kind, a screen …"
            />
            <Autocomplete.List className={css.list}>
              {(entry: Entry) => (
                <Autocomplete.Item
                  key={`${entry.kind} ${entry.name}`}
                  value={entry}
                  className={css.item}
                  onClick={() => open(entry)}
                >
                  <span>{entry.name}</span>
                  <span>{entry.kind}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Entries for the typed text, without screens and acts for which the caller's key lacks the scope. */
function useEntries(typed: string): Entry[] {
  const { data: callable = [] } = useQuery(toolsQuery);
  const { data: custom = [] } = useQuery(customToolsQuery);
  const { data: playbooks = [] } = useQuery(somePlaybooksQuery);
  const { data: health } = useQuery(healthQuery);
  const openCircuits = health?.circuits.filter(({ state }) => state !== 'closed').map(({ tool }) => tool);
  const mayOpen = useMayOpen();
  const mayAct = usePermission('tools:admin') !== 'no';
  return entriesFor(typed, { tools: allTools(callable, custom), playbooks, openCircuits }).filter(
    ({ to }) => mayOpen(to) && (mayAct || !/\?act=|\/edit$/.test(to)),
  );
}
