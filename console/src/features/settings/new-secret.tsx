import { type ReactNode, useRef } from 'react';
import type { NewKeyView } from '../../lib/api.js';
import { serverUrl } from '../../lib/server-url.js';
import { Button, TextField } from '../../ui/controls.js';
import { Dialog } from '../../ui/dialog.js';
import { JsonText } from '../../ui/json-text.js';
import { Note, Row, Stack } from '../../ui/layout.js';
import { useCopy } from '../../ui/use-copy.js';

interface NewSecretProps {
  readonly made: NewKeyView;
  readonly onClose: () => void;
}

/** A key that was just made. Only its own button closes it: a slip of the hand would lose the key. */
export function NewSecret({ made: { name, key }, onClose }: NewSecretProps): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const copy = useCopy();
  const copyKey = async (): Promise<void> => {
    if (!(await copy(key, `the key of ${name}`))) field.current?.select();
  };
  return (
    <Dialog open onClose={() => undefined} title={`The key of ${name}`}>
      <Stack>
        <Note tone="warn">
          It is shown this once. The server keeps its hash alone: nobody can show it again, and a key that is
          lost key is revoked and replaced.
        </Note>
        <TextField ref={field} label="Key" value={key} readOnly spellCheck={false} onText={() => undefined} />
        <JsonText
          label="How it is sent"
          value={`curl -H 'authorization: Bearer ${key.slice(0, 12)}…' ${serverUrl}/api/v1/tools`}
        />
        <Row>
          <Button look="primary" onClick={() => void copyKey()}>
            Copy key
          </Button>
          <Button onClick={onClose}>I have stored it</Button>
        </Row>
      </Stack>
    </Dialog>
  );
}
