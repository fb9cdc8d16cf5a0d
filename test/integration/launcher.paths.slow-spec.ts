import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LauncherLab, loader, probe, sayUntested, users } from '../support/launcher-lab.js';

if (!probe.landlock) sayUntested('paths (this kernel has no landlock)');

describe.each(users)('as $name', (user) => {
  let lab: LauncherLab;
  beforeAll(() => {
    lab = new LauncherLab(user);
  });
  afterAll(() => lab.close());

  if (probe.landlock) describe('paths', () => paths());
  else
    it('paths cannot be restricted here, and that is an error', async () => {
      const ended = await lab.run(lab.confined(['--ro', '/'], 'true'));
      expect(ended).toMatchObject({
        code: 125,
        stderr: expect.stringContaining('landlock is not available'),
      });
    });

  function paths(): void {
    it('a file outside is not read', async () => {
      const file = user.uid === 0 ? '/etc/shadow' : lab.outsideFile('read');
      expect(await lab.stopped(lab.pythonPaths, 'read', file)).toContain('Permission denied');
    });

    it.each(['write', 'append', 'truncate', 'remove', 'list_folder'])('%s outside', async (act) => {
      const target = () => (act === 'list_folder' ? lab.outside : lab.outsideFile('target'));
      expect(await lab.attempt(lab.act(undefined, act, target()))).toBe('done');
      expect(await lab.attempt(lab.act(lab.pythonPaths, act, target()))).toContain('Permission denied');
      if (act !== 'list_folder') expect(readFileSync(join(lab.outside, 'target'), 'utf8')).toBe('a secret\n');
    });

    it('a symbolic link does not lead out', async () => {
      const file = lab.outsideFile('linked');
      const link = join(lab.work, 'link');
      expect(await lab.stopped(lab.pythonPaths, 'through_link', link, file)).toContain('Permission denied');
      expect(await lab.attempt(lab.act(lab.pythonPaths, 'write_through_link', link, file))).toContain(
        'Permission denied',
      );
      expect(readFileSync(file, 'utf8')).toBe('a secret\n');
    });

    it('a file is not moved in from outside, and not out', async () => {
      const inside = join(lab.work, 'moved');
      await stoppedMove(lab.outsideFile('movable'), inside);
      expect(await lab.attempt(lab.act(lab.pythonPaths, 'write', inside))).toBe('done');
      await stoppedMove(inside, join(lab.outside, 'moved-out'));
    });

    async function stoppedMove(from: string, to: string): Promise<void> {
      const said = await lab.attempt(lab.act(lab.pythonPaths, 'rename', from, to));
      expect(said).toMatch(/stopped: (PermissionError|OSError) .*(Permission denied|cross-device)/);
      expect(await lab.attempt(lab.act(undefined, 'rename', from, to))).toBe('done');
      expect(await lab.attempt(lab.act(undefined, 'rename', to, from))).toBe('done');
    }

    it('what is granted works: write, append, truncate, rename, remove', async () => {
      const file = join(lab.work, 'own');
      for (const act of [
        ['write', file],
        ['append', file],
        ['truncate', file],
        ['rename', file, `${file}2`],
        ['remove', `${file}2`],
      ]) {
        expect(await lab.attempt(lab.act(lab.pythonPaths, ...act))).toBe('done');
      }
    });

    it('--ro does not write', async () => {
      const options = [...lab.pythonPaths, '--ro', lab.outside];
      expect(await lab.attempt(lab.act(options, 'read', lab.outsideFile('ro')))).toBe('done');
      expect(await lab.stopped(options, 'append', lab.outsideFile('ro'))).toContain('Permission denied');
    });

    it('the environment of the gateway is not read, not even where /proc is granted', async () => {
      const asGateway = (options?: string[]) => [
        'bash',
        '-c',
        '"$@"; true',
        'bash',
        ...lab.act(options, 'parent_environ'),
      ];
      const env = { GATEWAY_SECRET: 'x' };
      expect(await lab.attempt(asGateway(), env)).toBe('done');
      for (const more of [[], ['--ro', '/proc', '--drop-caps']]) {
        expect(await lab.attempt(asGateway([...lab.pythonPaths, ...more]), env)).toContain(
          'Permission denied',
        );
      }
    });

    it('a program outside of the list runs neither directly nor through the loader', async () => {
      expect(await lab.stopped(lab.pythonPaths, 'execute', '/usr/bin/id')).toContain('Permission denied');
      expect(await lab.stopped(lab.pythonPaths, 'execute', loader, '/usr/bin/id')).toContain(
        'Permission denied',
      );
    });

    it('without execution but with reading, the loader runs a program: hence lists without it', async () => {
      const readable = [...lab.pythonPaths, '--ro', '/usr/bin'];
      expect(await lab.stopped(readable, 'execute', '/usr/bin/id')).toContain('Permission denied');
      expect(await lab.attempt(lab.act(readable, 'execute', loader, '/usr/bin/id'))).toBe('done');
    });

    it('what it wrote itself is not executed, in a folder or in memory', async () => {
      const readable = [...lab.pythonPaths, '--ro', '/usr/bin'];
      const copy = join(lab.work, 'id');
      expect(await lab.stopped(readable, 'execute_copy', '/usr/bin/id', copy)).toContain('Permission denied');
      expect(await lab.stopped([...readable, '--seccomp'], 'execute_from_memory', '/usr/bin/true')).toContain(
        'memfd',
      );
    });

    it('a path that is not there is named, and nothing runs', async () => {
      const ended = await lab.run(
        lab.confined(['--ro', '/', '--rx', '/no/such/path'], 'bash', '-c', 'echo ran'),
      );
      expect(ended).toEqual({
        code: 125,
        signal: null,
        stdout: '',
        stderr: 'toolkeeper-launcher: cannot grant /no/such/path: No such file or directory\n',
      });
    });

    describe('a symbolic link where a granted path was', () => {
      /** `granted` with a file in it, in a folder in which it may be exchanged. */
      function place(name: string): { around: string; granted: string; file: string } {
        const around = join(lab.work, name);
        const granted = join(around, 'granted');
        mkdirSync(granted, { recursive: true });
        writeFileSync(join(granted, 'file'), 'inside\n');
        return { around, granted, file: join(granted, 'file') };
      }
      const refused = (path: string) => ({
        code: 125,
        signal: null,
        stdout: '',
        stderr: `toolkeeper-launcher: cannot grant ${path}: a symbolic link stands in it now\n`,
      });

      it.each(['--ro', '--rx', '--rw'])('is not followed at its end or before it: %s', async (option) => {
        const { around, granted, file } = place(`link${option}`);
        const run = (path: string) =>
          lab.run(lab.confined(['--rx', '/', option, path], 'bash', '-c', 'echo ran'));
        expect(await run(file)).toMatchObject({ code: 0, stdout: 'ran\n' });
        renameSync(granted, join(around, 'before'));
        symlinkSync(lab.outside, granted);
        lab.outsideFile('file');
        expect(await run(granted)).toEqual(refused(granted));
        expect(await run(file)).toEqual(refused(file));
      });

      it('is not followed where a path is only held for somebody else', async () => {
        const { around, granted } = place('held');
        const run = () =>
          lab.run([lab.launcher, '--hold', granted, '--', 'bash', '-c', 'readlink /proc/self/fd/3']);
        expect(await run()).toMatchObject({ code: 0, stdout: `${granted}\n` });
        renameSync(granted, join(around, 'before'));
        symlinkSync(lab.outside, granted);
        expect(await run()).toEqual(refused(granted));
      });

      it('what is granted must be what was held, and is held no longer then', async () => {
        const { around, granted } = place('same');
        const other = join(around, 'other');
        mkdirSync(other);
        const inner = lab.confined(
          ['--held', '1', '--rw', granted, '--rx', '/'],
          'bash',
          '-c',
          'echo /proc/self/fd/*',
        );
        const run = (held: string) => lab.run([lab.launcher, '--hold', held, '--', ...inner]);
        expect(await run(granted)).toMatchObject({ code: 0, stdout: expect.not.stringContaining('fd/4') });
        const stderr = `toolkeeper-launcher: cannot grant ${granted}: something else stands there now\n`;
        expect(await run(other)).toEqual({ code: 125, signal: null, stdout: '', stderr });
        expect(await lab.run(inner)).toEqual({ code: 125, signal: null, stdout: '', stderr });
      });
    });

    it('an older landlock (version 1) still restricts', async () => {
      const old = [...lab.pythonPaths, '--landlock-abi', '1'];
      expect(await lab.stopped(old, 'read', lab.outsideFile('old'))).toContain('Permission denied');
      expect(await lab.attempt(lab.act(old, 'write', join(lab.work, 'old')))).toBe('done');
    });
  }
});
