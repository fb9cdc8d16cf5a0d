import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { asApiError } from '../lib/api.js';
import { openSession } from '../lib/session.js';
import { Button, TextField } from '../ui/controls.js';
import { Stack } from '../ui/layout.js';

export function SignInForm({ onDone }: { readonly onDone: () => void }): ReactNode {
  const [key, setKey] = useState('');
  const [wrong, setWrong] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const client = useQueryClient();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await openSession(client, { key: key.trim() });
      onDone();
    } catch (error) {
      setWrong(asApiError(error).message);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextField
          label="API key"
          type="password"
          autoComplete="off"
          required
          value={key}
          wrong={wrong}
          onText={setKey}
          help={
            <>
              The server made one at its first start: <code>cat .toolkeeper/admin.key</code> in its folder. It
              is exchanged for a session and kept nowhere in this browser.
            </>
          }
        />
        <Button type="submit" look="primary" disabled={isBusy || key.trim() === ''}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
