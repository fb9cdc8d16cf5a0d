import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PoolLab, toolsFolder } from '../../../../test/fixtures/tools/pool-lab.js';
import { probeExecutable } from './probe-executable.js';
import type { ProcessSpec } from '../../process-pool/pool.types.js';

describe('probeExecutable', () => {
  let lab: PoolLab;
  let folder: string;

  beforeEach(() => {
    lab = new PoolLab();
    folder = mkdtempSync(join(tmpdir(), 'probe-'));
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await lab.close();
  });

  const limits = () => lab.settings({ maxLineBytes: 65_536 });
  const probeWhole = (spec: ProcessSpec, { startTimeoutMs = 45_000, healthMs = 50 } = {}) =>
    probeExecutable(spec, { ...limits(), startTimeoutMs }, PoolLab.launcher, { healthMs });
  const probe = async (...args: Parameters<typeof probeWhole>) => (await probeWhole(...args)).handshake;
  /** For tools whose end or answer to `health` is awaited, however long it takes. */
  const patiently = { healthMs: 60_000 };
  const fixture = (start: string) => lab.spec([`--start=${start}`]);
  const script = (text: string, mode = 0o755) => {
    const path = join(folder, 'tool');
    writeFileSync(path, text);
    chmodSync(path, mode);
    return lab.spec([], path);
  };

  /** A tool that answers `initialize` with this result. */
  const says = (result: string) =>
    probe(
      script(`#!/bin/sh\nread line\necho '{"jsonrpc":"2.0","id":"0","result":${result}}'\ncat >/dev/null\n`),
    );

  it('tells what the tool says of itself, and leaves no process', async () => {
    await expect(
      probeExecutable(fixture('ok'), limits(), PoolLab.launcher, { healthMs: 60_000 }),
    ).resolves.toEqual({
      handshake: {
        name: 'fixture_tool',
        description: 'Does what its input says',
        version: '1.2.3',
        inputSchema: { type: 'object', properties: { action: { type: 'string' } } },
      },
      health: { result: { status: 'healthy', pid: expect.any(Number) } },
    });
    expect(lab.alive()).toEqual([]);
  });

  it.each([
    ['pretty-printed', 'multiline'],
    ['after chatter', 'noisy'],
    ['late', 'slow:100'],
  ])('accepts an answer that comes %s', async (_how, start) => {
    await expect(probe(fixture(start))).resolves.toMatchObject({ version: '1.2.3' });
  });

  it.each([
    ['echo.py', 'echo_py'],
    ['echo.sh', 'echo_sh'],
  ])('speaks with %s', async (file, name) => {
    await expect(probe(lab.spec([], join(toolsFolder, file)))).resolves.toMatchObject({ name });
  });

  it.each([
    ['exit', /ended with exit code 7 before it answered "initialize"/],
    ['error', /answered "initialize" with error -32601: Method not found/],
    ['scalar', /result that is not an object/],
    ['flood', /over 65536 bytes/],
    ['answer-and-exit', /but then: The tool ended with exit code 0|ended right after its answer/],
    ['closes', /closed its input or its output/],
  ])('refuses a tool that starts with "%s"', async (start, message) => {
    await expect(probe(fixture(start), patiently)).rejects.toMatchObject({
      name: 'PoolFailure',
      reason: 'spawn_failed',
      message: expect.stringMatching(message),
    });
    expect(lab.alive()).toEqual([]);
  });

  it.each([['hang'], ['garbage']])('refuses a tool that never answers: %s', async (start) => {
    await expect(probe(fixture(start), { startTimeoutMs: 400 })).rejects.toThrow(
      'did not answer "initialize" within 400 ms',
    );
    expect(lab.alive()).toEqual([]);
  });

  it('does not mind a tool that leaves health unanswered, or does not know it', async () => {
    await expect(probe(lab.spec(['--health=hang']))).resolves.toMatchObject({ version: '1.2.3' });
    await expect(probe(lab.spec(['--health=unknown']), patiently)).resolves.toMatchObject({
      version: '1.2.3',
    });
  });

  it('tells what it answered to health, if it did', async () => {
    await expect(probeWhole(lab.spec(['--health=degraded']), patiently)).resolves.toMatchObject({
      handshake: { version: '1.2.3' },
      health: { result: { status: 'degraded' } },
    });
    expect(await probeWhole(lab.spec(['--health=hang']))).not.toHaveProperty('health');
  });

  it('refuses a tool that answers health against the protocol', async () => {
    const malformed = probe(lab.spec(['--health=malformed']), patiently);
    await expect(malformed).rejects.toThrow('broke the protocol');
  });

  it('brings what the tool wrote to stderr', async () => {
    await expect(probe(fixture('exit'))).rejects.toMatchObject({
      notes: { stderrTail: 'ModuleNotFoundError: no module named requests' },
    });
  });

  it('names a signal that ended it', async () => {
    await expect(probe(script('#!/bin/sh\nkill -KILL $$\n'))).rejects.toThrow('was ended by SIGKILL');
  });

  it.each<[string, () => ProcessSpec, RegExp]>([
    [
      'a command that does not exist',
      () => lab.spec([], '/no/such/tool'),
      /"\/no\/such\/tool" was not found/,
    ],
    ['a command that PATH does not know', () => lab.spec([], 'no-such-tool'), /"no-such-tool" was not found/],
    [
      'an interpreter that does not exist',
      () => script('#!/no/such/interpreter\n'),
      /interpreter in its first line/,
    ],
    ['a file without the right to run', () => script('#!/bin/sh\n', 0o644), /is not executable/],
    [
      'a folder that does not exist',
      () => ({ ...lab.spec(), cwd: '/no/such' }),
      /working directory "\/no\/such"/,
    ],
    ['a command with a null byte', () => lab.spec([], 'a\0b'), /could not be started/],
  ])('says in a sentence what is wrong with %s', async (_what, spec, message) => {
    await expect(probe(spec())).rejects.toThrow(message);
  });

  it('starts the executable in its folder with its own environment and nothing else', async () => {
    const spec = script(
      `#!/bin/sh\nread line\nprintf '{"jsonrpc":"2.0","id":"0","result":{"name":"%s","version":"%s"}}\\n' "$PWD" "\${HOME-none}"\ncat >/dev/null\n`,
    );
    await expect(probe({ ...spec, cwd: folder })).resolves.toEqual({ name: folder, version: 'none' });
  });

  it.each([
    ['"1.0"', {}, { protocolVersion: '1.0' }],
    ['"1.1"', {}, { protocolVersion: '1.1' }],
    [undefined, { cancel: true, shutdown: true }, { capabilities: { cancel: true, shutdown: true } }],
    ['"1.1"', { cancel: {}, other: true }, { protocolVersion: '1.1', capabilities: { cancel: true } }],
    [undefined, { cancel: false, shutdown: null }, {}],
    [undefined, { cancel: 'yes', shutdown: 1 }, {}],
    [undefined, [], {}],
  ])('takes version %s and capabilities %j', async (version, capabilities, expected) => {
    const members = [
      ...(version ? [`"protocolVersion":${version}`] : []),
      `"capabilities":${JSON.stringify(capabilities)}`,
    ];
    await expect(says(`{${members.join(',')}}`)).resolves.toEqual(expected);
  });

  it.each([['"2.0"'], ['"2024-11-05"'], ['1'], ['null']])(
    'refuses a tool that answers version %s',
    async (version) => {
      const message = `It answered "initialize" with protocolVersion ${version}; this server speaks "1.1" and "1.0"`;
      await expect(says(`{"protocolVersion":${version}}`)).rejects.toThrow(message);
    },
  );

  it('offers the oldest version as its own, and all that we speak, newest first', async () => {
    const echo = `#!/bin/sh\nread line\nprintf '{"jsonrpc":"2.0","id":"0","result":{"inputSchema":%s}}\\n' "$line"\ncat >/dev/null\n`;
    await expect(probe(script(echo))).resolves.toMatchObject({
      inputSchema: {
        method: 'initialize',
        params: { protocolVersion: '1.0', supportedVersions: ['1.1', '1.0'] },
      },
    });
  });

  it('ignores what is not of its type, and takes a declared concurrency', async () => {
    await expect(says('{"name":1,"inputSchema":[],"maxConcurrency":4}')).resolves.toEqual({
      maxConcurrency: 4,
    });
    await expect(says('{"maxConcurrency":0}')).resolves.toEqual({});
  });
});
