import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { nearest } from '../lib/nearest.js';

interface DidYouMeanProps {
  readonly name: string;
  readonly known: readonly string[];
  /** Address of a known name; absent: the name is a path. */
  readonly placeOf?: (name: string) => string;
}

/** Links to known names that resemble an unknown one; renders nothing if there are none. */
export function DidYouMean({ name, known, placeOf = (path) => path }: DidYouMeanProps): ReactNode {
  const names = nearest(name, known);
  return (
    names.length > 0 && (
      <>
        Did you mean{' '}
        {names.map((each, index) => (
          <span key={each}>
            {index > 0 && ' or '}
            <Link to={placeOf(each) as '/'}>{each}</Link>
          </span>
        ))}
        ?
      </>
    )
  );
}
