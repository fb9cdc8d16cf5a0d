import { type ReactNode, useState } from 'react';
import { Button } from './controls.js';
import { Dialog } from './dialog.js';
import { Row } from './layout.js';

interface StartOverProps {
  readonly draft: { readonly isChanged: boolean; readonly forget: () => void };
}

/** Discards an unsaved text, after a question. */
export function StartOver({ draft: { isChanged, forget } }: StartOverProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const close = (): void => setAsking(false);
  if (!isChanged) return null;
  const discard = (): void => {
    close();
    forget();
  };
  return (
    <>
      <Button onClick={() => setAsking(true)}>Start over</Button>
      <Dialog open={isAsking} onClose={close} title="Start over?" about="What you changed is discarded.">
        <Row>
          <Button look="danger" onClick={discard}>
            Discard
          </Button>
          <Button onClick={close}>Cancel</Button>
        </Row>
      </Dialog>
    </>
  );
}
