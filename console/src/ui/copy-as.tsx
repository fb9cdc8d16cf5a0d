import type { ReactNode } from 'react';
import { actOf, type AnyAct, type Send } from '../lib/act.js';
import { useProject } from '../lib/project.js';
import { serverUrl } from '../lib/server-url.js';
import { asCurl, asTypeScript } from '../lib/snippets.js';
import { Menu } from './menu.js';
import { useCopy } from './use-copy.js';

/** @param project the project of the screen */
type Form = (project?: string) => string | Promise<string>;

interface CopyAsProps {
  /** Label, if the context does not show what is copied. */
  readonly label?: string | undefined;
  /** Functions that make the text to copy, by name. */
  readonly forms: Readonly<Record<string, Form>>;
}

/** Menu to copy an action for a shell or a program. */
export function CopyAs({ label = 'Copy as …', forms }: CopyAsProps): ReactNode {
  const copy = useCopy();
  const project = useProject();
  const copyMade = async (name: string, make: Form): Promise<void> => {
    await copy(await make(project), name);
  };
  return (
    <Menu
      label={label}
      items={Object.entries(forms).map(([name, make]) => ({
        name,
        onClick: () => void copyMade(name, make),
      }))}
    />
  );
}

/** The forms of an action: for a shell and for a program. */
export const formsOf = (act: () => AnyAct | Promise<AnyAct>) => ({
  curl: async (project?: string) => asCurl({ ...(await act()), project }, serverUrl),
  TypeScript: async (project?: string) => asTypeScript({ ...(await act()), project }, serverUrl),
});

interface CopyActProps extends Pick<CopyAsProps, 'label'> {
  readonly send: Send;
  /** The same for the command line, where that has it. */
  readonly command?: string | undefined;
}

/** Menu to copy the action of the button beside it. */
export const CopyAct = ({ label, send, command }: CopyActProps): ReactNode => (
  <CopyAs
    label={label}
    forms={{ ...formsOf(() => actOf(send)), ...(command !== undefined && { 'Command line': () => command }) }}
  />
);
