import { nameRules, PlatformNames } from './platform-names.js';
import { type ToolFormat, toolFormatNames } from './tool-formats.js';

const namesOf = (...names: string[]) => new PlatformNames(new Set(names));
const accepted: Record<ToolFormat, RegExp> = {
  openai: /^[a-zA-Z0-9_-]{1,64}$/,
  'openai-responses': /^[a-zA-Z0-9_-]{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]{1,128}$/,
  mcp: /^[a-zA-Z0-9_.-]{1,128}$/,
  distri: /^[a-zA-Z0-9_-]{1,64}$/,
  holmes: /^[a-zA-Z0-9_-]{1,64}$/,
};
const long = `files__${'x'.repeat(90)}`;
const odd = [
  'notes.read',
  'notes/read',
  'notes read',
  'Übersetze 🌍',
  long,
  `${long}y`,
  `a__${'b'.repeat(300)}`,
];

describe.each(toolFormatNames)('names in the format %s', (format) => {
  it('are taken by the platform, lead back to their tools, and are nobody else’s', () => {
    const names = namesOf(...odd, 'echo');
    const shown = odd.map((name) => names.shown(name, nameRules[format]));
    for (const [at, name] of odd.entries()) {
      expect(shown[at]).toMatch(accepted[format]);
      expect(names.ownerOf(shown[at] ?? '') ?? shown[at]).toBe(name);
    }
    expect(new Set(shown).size).toBe(odd.length);
    expect(names.shown('echo', nameRules[format])).toBe('echo');
  });

  it('stay as they are where the platform takes them', () => {
    const fitting = 'n'.repeat(nameRules[format].maxLength);
    expect(namesOf(fitting).shown(fitting, nameRules[format])).toBe(fitting);
  });
});

describe('an alias', () => {
  it('is the same on every server, whatever other tools there are', () => {
    expect(namesOf('notes.read').shown('notes.read', nameRules.openai)).toBe('notes_read_14a9bb38');
    expect(namesOf(...odd).shown('notes.read', nameRules.openai)).toBe('notes_read_14a9bb38');
  });

  it('keeps the dots of MCP, and Anthropic’s 128 characters', () => {
    const names = namesOf('notes.read', long);
    expect(names.shown('notes.read', nameRules.mcp)).toBe('notes.read');
    expect(names.shown(long, nameRules.anthropic)).toBe(long);
  });

  it('gives way to a tool of that name, and still leads to its own', () => {
    const imitated = namesOf('notes.read').shown('notes.read', nameRules.openai);
    const names = namesOf('notes.read', imitated);
    const alias = names.shown('notes.read', nameRules.openai);
    expect(alias).not.toBe(imitated);
    expect(names.ownerOf(alias)).toBe('notes.read');
    expect(names.ownerOf(imitated)).toBeUndefined();
    expect(names.shown(imitated, nameRules.openai)).toBe(imitated);
  });

  it('is no one’s of two names with the same beginning and the same hash', () => {
    // Both hashes begin with the same 32 bits.
    const [one, other] = clashing;
    const names = namesOf(one, other);
    const aliases = [names.shown(one, nameRules.openai), names.shown(other, nameRules.openai)];
    expect(new Set(aliases).size).toBe(2);
    expect(aliases.map((alias) => names.ownerOf(alias))).toEqual([one, other]);
    expect(namesOf(one).shown(one, nameRules.openai)).toBe(namesOf(other).shown(other, nameRules.openai));
  });
});

const clashing = [`${'x'.repeat(60)}82008`, `${'x'.repeat(60)}151830`] as const;
