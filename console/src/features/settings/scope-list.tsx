import type { ReactNode } from 'react';
import { type Scope, scopeTexts } from '../../lib/scopes.js';
import { Tag } from '../../ui/controls.js';

export const ScopeList = ({ scopes }: { readonly scopes: readonly Scope[] }): ReactNode => (
  <ul>
    {scopes.map((scope) => (
      <li key={scope}>
        <Tag>{scope}</Tag> {scopeTexts[scope]}
      </li>
    ))}
  </ul>
);
