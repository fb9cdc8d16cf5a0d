import type { ReactNode } from 'react';
import { Page } from '../../ui/layout.js';
import { TeachingCards } from './teaching-cards.js';

export const ConnectPage = (): ReactNode => (
  <Page name="Connect">
    <TeachingCards />
  </Page>
);
