import { type ReactNode, useState } from 'react';
import { Modes } from '../ui/modes.js';
import { applyTheme, chosenTheme, type Theme } from './theme.js';

const names: Readonly<Record<Theme, string>> = { system: 'As the system', light: 'Light', dark: 'Dark' };

export function ThemeChoice(): ReactNode {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <Modes
      label="Theme"
      names={names}
      value={theme}
      onChange={(chosen) => {
        applyTheme(chosen);
        setTheme(chosen);
      }}
    />
  );
}
