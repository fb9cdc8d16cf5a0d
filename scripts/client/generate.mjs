/**
 * Writes the typed client and the form of a tool's settings into client/, from docs/openapi.json. Set-up runs it with the project's
 * own Node.js.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';

const root = join(import.meta.dirname, '..', '..');
const input = join(root, 'docs', 'openapi.json');
const path = join(root, 'client');
await createClient({
  input,
  output: { path, module: { extension: '.js' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  logs: { level: 'silent', file: false },
});
const { schemas } = JSON.parse(readFileSync(input, 'utf8')).components;
writeFileSync(
  join(path, 'tool-settings.json'),
  `${JSON.stringify(settingsForm(schemas.CustomToolCreate), null, 2)}\n`,
);

/**
 * The settings of a tool as a JSON Schema for a form. Defaults stand in the descriptions and are not filled in:
 * a setting that is left out stays as the server has it.
 */
function settingsForm(value) {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  const left = new Set(['$ref', 'allOf', 'default', 'example', 'nullable']);
  const { $ref, allOf = [], default: initial, description = '' } = value;
  const [part] = [...($ref ? [{ $ref }] : []), ...allOf].map((each) => schemas[each.$ref.split('/').at(-1)]);
  const hasDefault = initial !== undefined && !Array.isArray(initial);
  const text = [description, hasDefault ? `Default: ${initial}.` : ''].filter(Boolean).join('. ');
  const rest = Object.fromEntries(Object.entries(value).filter(([name]) => !left.has(name)));
  const properties = rest.properties && { properties: mapped(rest.properties) };
  return {
    ...(part && settingsForm(part)),
    ...mapped(rest),
    ...properties,
    ...(text && { description: text }),
  };
}

function mapped(object) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, settingsForm(value)]));
}
