import { lazy, type ReactNode, Suspense } from 'react';
import type { CodeMirrorProps } from './code-mirror.js';
import { Loading } from './states.js';

/** Suspends until the editor is there, which is fetched when it is first needed. */
export const CodeMirror = lazy(() =>
  import('./code-mirror.js').then(({ CodeMirror: it }) => ({ default: it })),
);

/** A text with the keys of an editor. */
export const CodeEditor = (props: CodeMirrorProps): ReactNode => (
  <Suspense fallback={<Loading />}>
    <CodeMirror {...props} />
  </Suspense>
);
