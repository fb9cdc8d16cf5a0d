import { lazy, type ReactNode, Suspense } from 'react';
import type { CodeMirrorProps } from './code-mirror.js';
import { Loading } from './states.js';

/** Loads the editor when it is first needed, and suspends until then. */
export const CodeMirror = lazy(() =>
  import('./code-mirror.js').then(({ CodeMirror: it }) => ({ default: it })),
);

/** A text in a code editor. */
export const CodeEditor = (props: CodeMirrorProps): ReactNode => (
  <Suspense fallback={<Loading />}>
    <CodeMirror {...props} />
  </Suspense>
);
