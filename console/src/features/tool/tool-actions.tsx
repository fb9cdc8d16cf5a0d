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
import { Button, buttonLook } from '../../ui/controls.js';
import { CopyAct } from '../../ui/copy-as.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { useDone, useFailed } from '../../ui/toasts.js';

/** The operator's actions on a registered tool. */
export function ToolActions({ custom }: { readonly custom: CustomToolView }): ReactNode {
  const { name, status } = custom;
  const [isRemoving, setRemoving] = useState(false);
  const permitted = useAct('tools:admin');
  const done = useDone('tools');
  const onError = useFailed();
  const isOff = status === 'inactive';
  const send = (options: Sending = {}) =>
    (isOff ? enableCustomTool : disableCustomTool)({ path: { name }, ...options });
  const change = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: ({ status: now }) => done(now === 'inactive' ? 'Disabled' : 'Enabled', name),
    onError,
  });
  if (!permitted) return null;
  return (
    <>
      <Link to="/tools/$name/edit" params={{ name }} className={buttonLook()}>
        Edit
      </Link>
      <Button disabled={change.isPending} onClick={() => permitted(() => change.mutate())}>
        {isOff ? 'Enable' : 'Disable'}
      </Button>
      <CopyAct
        label={isOff ? 'Copy enabling as …' : 'Copy disabling as …'}
        send={send}
        command={asCommand(isOff ? 'tool enable' : 'tool disable', name)}
      />
      <Button onClick={() => permitted(() => setRemoving(true))}>Remove</Button>
      {isRemoving && <RemoveDialog name={name} onClose={() => setRemoving(false)} />}
    </>
  );
}

function RemoveDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }): ReactNode {
  const navigate = useNavigate();
  const done = useDone('tools');
  const send = (options: Sending = {}) => removeCustomTool({ path: { name }, ...options });
  const change = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: () => {
      done('Removed', name);
      void navigate({ to: '/tools' });
    },
  });
  return (
    <FormDialog
      title={`Remove ${name}?`}
      about="Its processes end and agents can no longer call it. Its executions and revisions stay on record."
      name="Remove"
      look="danger"
      {...{ change, send }}
      command={asCommand('tool unregister', name)}
      onClose={onClose}
    />
  );
}
