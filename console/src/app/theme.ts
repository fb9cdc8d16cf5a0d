export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const name = 'toolkeeper.theme';

export const chosenTheme = (): Theme =>
  themes.find((theme) => theme === window.localStorage.getItem(name)) ?? 'system';

/** `system` follows the operating system's setting and its changes. */
export function applyTheme(theme: Theme): void {
  window.localStorage.setItem(name, theme);
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
