import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { asApiError } from '../lib/api.js';
import { openSession, sessionQuery } from '../lib/session.js';
import { keyCommand } from '../lib/snippets.js';
import { Button, TextField } from '../ui/controls.js';
import { Row, Stack } from '../ui/layout.js';

interface SignInFormProps {
  readonly onDone: () => void;
  /** Absent: there is nothing to go back to. */
  readonly onCancel?: () => void;
}

export function SignInForm({ onDone, onCancel }: SignInFormProps): ReactNode {
  const [key, setKey] = useState('');
  const [wrong, setWrong] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const client = useQueryClient();
  // The path of the key file is shown only to callers who may read the environment.
  const readKey = keyCommand(client.getQueryData(sessionQuery.queryKey)?.environment ?? null);
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
              The operator’s: <code>{readKey ?? 'ADMIN_API_KEY, or admin.key in the data directory'}</code>.
              It is exchanged for a session and not stored in this browser.
            </>
          }
        />
        <Row>
          <Button type="submit" look="primary" disabled={isBusy || key.trim() === ''}>
            Sign in
          </Button>
          {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        </Row>
      </Stack>
    </form>
  );
}
