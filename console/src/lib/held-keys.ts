/**
 * Holds back what is typed until the field that it is for is there to take it. Esc gives up.
 * @returns ends it, and gives what was typed meanwhile
 */
export function holdKeys(onCancel: () => void): () => string {
  let typed = '';
  const hold = (event: KeyboardEvent): void => {
    const { key } = event;
    const isText = key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (key === 'Escape') onCancel();
    if (key === 'Backspace') typed = typed.slice(0, -1);
    if (isText) typed += key;
    if (!isText && !['Escape', 'Backspace', 'Enter'].includes(key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  window.addEventListener('keydown', hold, { capture: true });
  return () => {
    window.removeEventListener('keydown', hold, { capture: true });
    const held = typed;
    typed = '';
    return held;
  };
}
