const fields = 'input, textarea, select, [contenteditable=true], [role=dialog]';

const isWithin = ({ target }: Event, selector: string): boolean =>
  target instanceof Element && target.closest(selector) !== null;

/** Keys are letters where somebody types, and a dialog takes them for itself. */
export const isTyping = (event: Event): boolean => isWithin(event, fields);

/** A click or Enter has a use of its own on a link, on a button, and where somebody types. */
export const isOnControl = (event: Event): boolean => isWithin(event, `a, button, ${fields}`);
