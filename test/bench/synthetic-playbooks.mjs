/** A large catalogue for benchmarks: the sample playbooks again and again, each time for another component. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const samples = readdirSync(join(root, 'playbooks'))
  .sort()
  .map((file) => parse(readFileSync(join(root, 'playbooks', file), 'utf8')));

/** @param count 10,000 share what 46 sample playbooks say, and each has words and phrases of its own */
export function syntheticCatalogue(count) {
  return Array.from({ length: count }, (_, at) => {
    const sample = samples[at % samples.length];
    const other = samples[(at * 7 + Math.floor(at / samples.length)) % samples.length];
    const component = `component${at.toString(36)}`;
    return {
      playbook_id: `${sample.playbook_id}-${at}`,
      version: sample.version,
      name: `${sample.name} (${component})`,
      description: `${sample.description} Only for ${component} beside ${other.name}.`,
      labels: {},
      signals: [...sample.signals.slice(at % 3), `${component}Failing`],
      aliases: sample.aliases.filter((_alias, place) => (at + place) % 2 === 0),
      when_to_use: sample.when_to_use ?? null,
    };
  });
}

/** The queries of the eval that have an answer. */
export const realQueries = () =>
  parse(readFileSync(join(root, 'test', 'eval', 'queries.yaml'), 'utf8'))
    .filter(({ relevant }) => relevant.length > 0)
    .map(({ text }) => text);
