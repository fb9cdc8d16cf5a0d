import { Tabs } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';
import css from './panel-tabs.module.css';

interface PanelTab<T extends string> {
  readonly value: T;
  readonly name: ReactNode;
  readonly content: ReactNode;
}

interface PanelTabsProps<T extends string> {
  readonly label: string;
  readonly tabs: readonly PanelTab<T>[];
  readonly value: T;
  readonly onChange: (value: T) => void;
  /** Beside the tabs. */
  readonly aside?: ReactNode;
}

/** Several views of one thing without addresses of their own. Views with addresses are `Tabs`. */
export const PanelTabs = <T extends string>(props: PanelTabsProps<T>): ReactNode => (
  <Tabs.Root className={css.root} value={props.value} onValueChange={(value: T) => props.onChange(value)}>
    <div className={css.head}>
      <Tabs.List className={css.list} aria-label={props.label}>
        {props.tabs.map(({ value, name }) => (
          <Tabs.Tab key={value} value={value} className={css.tab}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <div className={css.aside}>{props.aside}</div>
    </div>
    {props.tabs.map(({ value, content }) => (
      <Tabs.Panel key={value} value={value} className={css.panel}>
        {content}
      </Tabs.Panel>
    ))}
  </Tabs.Root>
);
