import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { importPlaybooks, searchPlaybooks } from '../../../client/sdk.gen.js';
import { messageOf } from '../../base/common/message-of.js';
import { ask, type Session } from '../api.js';
import { CliError, exit } from '../output.js';

/** Content types by the ending of a file's name. */
const contentTypes: Readonly<Record<string, string>> = {
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.json': 'application/json',
};

/** Imports files. Each is stored completely or not at all. @throws CliError after all others if one failed */
export async function importFiles({ client, out }: Session, paths: readonly string[]): Promise<void> {
  const done: { file: string; imported: number; unchanged: number }[] = [];
  const failed: { file: string; reason: string }[] = [];
  for (const file of paths.flatMap(filesAt)) {
    const body = readFileSync(file, 'utf8');
    try {
      const { imported, unchanged } = await ask(
        importPlaybooks({
          client,
          // The client's type of the body is JSON; a file is sent as it is.
          body: body as never,
          bodySerializer: (text: unknown) => text as string,
          headers: { 'content-type': contentTypes[extname(file)] ?? 'application/yaml' },
        }),
      );
      done.push({ file, imported: imported.length, unchanged: unchanged.length });
    } catch (error) {
      if (error instanceof CliError && error.code === exit.unreachable) throw error;
      failed.push({ file, reason: messageOf(error) });
    }
  }
  out.answer({ done, failed }, () =>
    done
      .map(({ file, ...count }) => `${file}: ${count.imported} stored, ${count.unchanged} known already`)
      .join('\n'),
  );
  if (failed.length > 0)
    throw new CliError(failed.map(({ file, reason }) => `${file}: ${reason}`).join('\n'), exit.failed, {
      done,
      failed,
    });
}

/** The file, or the YAML and JSON files of the folder, at a path. */
function filesAt(path: string): string[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new CliError(`there is nothing at ${path}`, exit.usage);
  if (!stats.isDirectory()) return [path];
  const files = readdirSync(path).filter((file) => extname(file) in contentTypes);
  return files.sort().map((file) => join(path, file));
}

/** Options of `playbook search`. */
interface SearchOptions {
  readonly limit: number;
  readonly threshold: string;
}

/** Searches playbooks as an agent does, and prints them. */
export async function search(
  { client, out }: Session,
  words: readonly string[],
  { limit, threshold }: SearchOptions,
): Promise<void> {
  const query = words.join(' ');
  const answer = await ask(
    searchPlaybooks({ client, query: { query, max_results: limit, min_confidence: Number(threshold) } }),
  );
  const { playbooks } = answer;
  out.answer(answer, () =>
    playbooks.length === 0
      ? 'nothing is worth showing'
      : out.table(
          ['CONFIDENCE', 'PLAYBOOK', 'DESCRIPTION'],
          playbooks.map(({ playbook_id, confidence, description }) => [
            confidence.toFixed(2),
            playbook_id,
            description.replace(/\s+/g, ' '),
          ]),
        ),
  );
}
