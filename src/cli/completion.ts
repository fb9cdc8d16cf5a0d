import type { Command, Option } from 'commander';
import { listTools } from '../../client/sdk.gen.js';
import type { ToolView } from '../../client/types.gen.js';
import type { Client } from '../../client/client/index.js';
import type { Session } from './api.js';

/** Completion scripts by shell. They call the hidden command `complete`. */
const scripts = {
  bash: `_toolkeeper() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(toolkeeper complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _toolkeeper toolkeeper`,
  zsh: `#compdef toolkeeper
_toolkeeper() {
  local -a found
  found=("\${(@f)$(toolkeeper complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n $found ]] && compadd -a found || _files
}
compdef _toolkeeper toolkeeper`,
  fish: `complete -c toolkeeper -f -a '(toolkeeper complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
};

/** Prints the completion script for a shell. */
export const completion = ({ out }: Session, shell: keyof typeof scripts): void => out.line(scripts[shell]);

/** Timeout for the names of tools: the user has pressed Tab and waits. */
const timeoutMs = 500;

/** Makes the hidden command `complete`: it prints the candidates for the last word, one per line. */
export const complete =
  (program: Command) =>
  async ({ client, out }: Session, words: readonly string[]): Promise<void> => {
    for (const word of await candidates(program, words, client)) out.line(word);
  };

/** The candidates for the last word. @param words those after `toolkeeper`; the last one may be incomplete or empty */
async function candidates(program: Command, words: readonly string[], client: Client): Promise<string[]> {
  const prefix = words.at(-1) ?? '';
  let command = program;
  let argumentCount = 0;
  /** The option whose value comes next. */
  let option: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (word.startsWith('-')) {
      option = optionsOf(command, program).find(
        ({ long, short, required }) => required && (word === long || word === short),
      );
    } else if (option) {
      if (!option.variadic) option = undefined;
    } else {
      const next = command.commands.find((each) => each.name() === word);
      if (next) command = next;
      else argumentCount++;
    }
  }
  let all: readonly string[];
  if (prefix.startsWith('-')) all = optionsOf(command, program).flatMap(({ long }) => long ?? []);
  else if (option) all = option.argChoices ?? [];
  else all = await wordsOf(command, argumentCount, client);
  return all.filter((word) => word.startsWith(prefix));
}

const optionsOf = (command: Command, program: Command): Option[] => [...command.options, ...program.options];

/** Subcommands of a command, or values of its argument at a position. */
async function wordsOf(command: Command, position: number, client: Client): Promise<string[]> {
  const { commands, registeredArguments } = command;
  const help = command.createHelp();
  if (commands.length > 0) return help.visibleCommands(command).map((each) => each.name());
  const argument = registeredArguments[position];
  if (argument?.argChoices) return [...argument.argChoices];
  return argument?.name() === 'name' ? namesOfTools(client) : [];
}

async function namesOfTools(client: Client): Promise<string[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await listTools({ client, query: { limit: 100 }, signal }).catch(() => undefined);
  return (answer?.data?.data as ToolView[] | undefined)?.map(({ name }) => name) ?? [];
}
