import { parseAllDocuments } from 'yaml';

/** Of what a YAML text may grow to when its aliases are written out. */
const maxJsonChars = 16_777_216;

/**
 * YAML as JSON: one document as it is; several as one list, into which their own lists are laid out.
 * Takes long for what is made to take long: it belongs into a thread that can be ended.
 * @throws Error with one line that says what is wrong
 */
export function yamlToJson(text: string): string {
  const values = [...parseAllDocuments(text, { schema: 'core' })].map((document) => {
    const [error] = document.errors;
    if (error) throw error;
    return document.toJS() as unknown;
  });
  const whole = values.length === 1 ? values[0] : values.flat().filter((value) => value !== null);
  const json = JSON.stringify(whole ?? null);
  if (json.length > maxJsonChars) throw new Error('It is too large once its aliases are written out');
  return json;
}
