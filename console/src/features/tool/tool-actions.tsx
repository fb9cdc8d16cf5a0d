import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Sending } from '../../lib/act.js';
import {
  ask,
  type CustomToolView,
  disableCustomTool,
  enableCustomTool,
  removeCustomTool,
} from '../../lib/api.js';
import { asCommand } from '../../lib/snippets.js';
import { buttonLook } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Menu } from '../../ui/menu.js';
import { useDone } from '../../ui/toasts.js';

const acts = {
  enable: {
    ask: enableCustomTool,
    name: 'Enable',
    done: 'Enabled',
    command: 'tool enable',
    about: 'Agents can call it again.',
  },
  disable: {
    ask: disableCustomTool,
    name: 'Disable',
    done: 'Disabled',
    command: 'tool disable',
    about: 'Its processes end and agents cannot call it until it is enabled again.',
  },
  remove: {
    ask: removeCustomTool,
    name: 'Remove',
    done: 'Removed',
    command: 'tool unregister',
    about: 'Its processes end and agents can no longer call it. Its executions and revisions stay on record.',
  },
} as const;
type Act = keyof typeof acts;

/** The operator's actions on a registered tool. */
export function ToolActions({ custom }: { readonly custom: CustomToolView }): ReactNode {
  const { name, status } = custom;
  const [act, setAct] = useState<Act>();
  const permitted = useAct('tools:admin');
  if (!permitted) return null;
  const offered: readonly Act[] = [status === 'inactive' ? 'enable' : 'disable', 'remove'];
  return (
    <>
      <Link to="/tools/$name/edit" params={{ name }} className={buttonLook()}>
        Edit
      </Link>
      <Menu
        items={offered.map((each) => ({
          name: acts[each].name,
          isDanger: each !== 'enable',
          onClick: () => permitted(() => setAct(each)),
        }))}
      />
      {act && <ActDialog tool={name} act={act} onClose={() => setAct(undefined)} />}
    </>
  );
}

interface ActDialogProps {
  readonly tool: string;
  readonly act: Act;
  readonly onClose: () => void;
}

function ActDialog({ tool, act, onClose }: ActDialogProps): ReactNode {
  const navigate = useNavigate();
  const finish = useDone('tools');
  const { name, done, command, about, ask: request } = acts[act];
  const send = (options: Sending = {}) => request({ path: { name: tool }, ...options });
  const change = useMutation({
    mutationFn: () => ask<unknown>(send()),
    onSuccess: () => {
      finish(done, tool);
      if (act === 'remove') void navigate({ to: '/tools' });
      else onClose();
    },
  });
  return (
    <FormDialog
      title={`${name} ${tool}?`}
      about={about}
      name={name}
      look={act === 'enable' ? 'primary' : 'danger'}
      {...{ change, send, onClose }}
      command={asCommand(command, tool)}
    />
  );
}
