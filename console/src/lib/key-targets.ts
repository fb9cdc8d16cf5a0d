const fields = 'input, textarea, select, [contenteditable=true], [role=dialog]';

const isWithin = ({ target }: Event, selector: string): boolean =>
  target instanceof Element && target.closest(selector) !== null;

/** Whether shortcuts must be ignored, because focus is in a text field or a dialog. */
export const isTyping = (event: Event): boolean => isWithin(event, fields);

/** Whether an element handles clicks and Enter itself: a link, a button or a text field. */
export const isOnControl = (event: Event): boolean => isWithin(event, `a, button, ${fields}`);
