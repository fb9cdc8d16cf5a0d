import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LauncherLab, probe, sayUntested, users } from '../support/launcher-lab.js';

// real: the launcher, this kernel, the programs that try; each act succeeds without the rule that stops it

/** Numbers of <fcntl.h>. */
const [setOwner, setOwnerOfThread, setSignal] = [8, 15, 10];
const [shared, unnamed, growsDown] = [0x01, 0x20, 0x0100];
const hex = (flags: number): string => flags.toString(16);

describe.each(users)('as $name', (user) => {
  let lab: LauncherLab;
  beforeAll(() => {
    lab = new LauncherLab(user);
  });
  afterAll(() => lab.close());

  /** Paths where the kernel restricts them: the file of the act may be read and no more. */
  const reading = (path: string, ...options: string[]): string[] =>
    lab.pathsAnd(...(probe.landlock ? ['--ro', path] : []), ...options);

  describe('what a descriptor that only reads is good for', () => {
    it.each(['lease', 'notify'])(
      'no %s: others would wait for this process, or it hear of them',
      async (act) => {
        const target = act === 'lease' ? lab.outsideFile(act) : lab.outside;
        expect(await lab.stopped(reading(target, '--seccomp'), act, target)).toContain('not permitted');
      },
    );

    it.each([
      ['a process', ['signal_owner', String(setOwner), String(process.pid)]],
      ['a signal', ['signal_owner', String(setSignal), '9']],
      ['a process, by ioctl', ['signal_owner_by_ioctl']],
    ])('no signals by descriptor: %s', async (_what, act) => {
      expect(await lab.stopped(lab.pathsAnd('--seccomp'), ...act)).toMatch(
        /not permitted|Inappropriate ioctl/,
      );
    });

    it('no signals to a thread by descriptor', async () => {
      // The owner stands in memory that is not there: the kernel, where it is asked, says so.
      const act = ['signal_owner', String(setOwnerOfThread), '0'];
      expect(await lab.attempt(lab.act(undefined, ...act))).toContain('Bad address');
      expect(await lab.attempt(lab.act(lab.pathsAnd('--seccomp'), ...act))).toContain('not permitted');
    });

    it.each(['chmod_open', 'chown_open', 'attribute_open'])('%s: nothing under --no-chmod', async (act) => {
      const file = lab.outsideFile(act);
      const stopped = await lab.stopped(reading(file, '--no-chmod'), act, file);
      expect(stopped).toContain('Operation not permitted');
    });

    it('no flags of a file', async () => {
      const file = lab.outsideFile('flags');
      const options = reading(file, '--seccomp');
      expect(await lab.stopped(options, 'flags_open', file)).toContain('Inappropriate ioctl');
    });
  });

  it.each(['set_user_id', 'set_group_id_open'])(
    '%s: no program becomes another user, under --seccomp',
    async (act) => {
      const file = lab.outsideFile(act);
      expect(await lab.stopped(lab.pathsAnd('--rw', lab.outside, '--seccomp'), act, file)).toContain(
        'not permitted',
      );
    },
  );

  it('a program that is made for another user is none once something is in it', async () => {
    const options = lab.pathsAnd('--seccomp');
    const path = (name: string): string => join(lab.work, name);
    expect(await lab.attempt(lab.act(options, 'made_as_set_user_id', path('made')))).toContain(
      'the bit is gone',
    );
    if (user.uid !== 0) return;
    expect(await lab.attempt(lab.act(undefined, 'made_as_set_user_id', path('made-by-root')))).toBe('done');
  });

  it('modes of its own files, and locks, are for everybody under --seccomp', async () => {
    for (const [act, name] of [
      ['own_mode', 'mode'],
      ['locks', 'locked'],
    ] as const) {
      expect(await lab.attempt(lab.act(lab.pathsAnd('--seccomp'), act, join(lab.work, name)))).toBe('done');
    }
  });

  describe('what --no-chmod leaves of everyday commands, in a folder of their own', () => {
    const python = (code: string): string => `/usr/bin/python3 -c '${code}'`;
    const stopped: readonly (readonly [program: string, line: string])[] = [
      ['cp', 'cp -p f g'],
      ['install', 'install -m 755 f g'],
      ['patch', 'printf "%s\\n" "--- f" "+++ f" "@@ -1 +1 @@" -a +b | patch f && grep b f'],
      ['git', 'git init -q .'],
      ['python3', python('import shutil; shutil.copy("f", "g")')],
    ];
    const left: readonly (readonly [program: string, line: string])[] = [
      ['cp', 'cp f g'],
      ['sed', 'sed -i s/a/b/ f && grep b f'],
      [
        'python3',
        python('import shutil, tempfile; shutil.copyfile("f", "g"); tempfile.NamedTemporaryFile()'),
      ],
      [
        'python3',
        python('import sqlite3; sqlite3.connect("d").execute("create table t(c)").connection.commit()'),
      ],
      ['python3', python('import multiprocessing; multiprocessing.Array("i", 9)')],
    ];
    const run = (line: string, ...options: string[]) =>
      lab.run(
        lab.confined(
          ['--seccomp', '--rlimit', `data=${512 << 20}`, ...options],
          ...['bash', '-c', `cd "$(mktemp -d)" && echo a >f && ${line}`],
        ),
        { TMPDIR: lab.work },
      );

    it.each(stopped)('%s: fails (%s)', async (program, line) => {
      if (!existsSync(`/usr/bin/${program}`)) return void sayUntested(`${program} (it is not installed)`);
      expect(await run(line)).toMatchObject({ code: 0 });
      expect(await run(line, '--no-chmod')).not.toMatchObject({ code: 0 });
    });

    it.each(left)('%s: works (%s)', async (_program, line) => {
      expect(await run(line, '--no-chmod')).toMatchObject({ code: 0 });
    });
  });

  it.each(['shared_segment', 'message_queue', 'semaphores', 'posix_queue'])(
    '%s: nothing outlives the tool',
    async (act) => {
      expect(await lab.stopped(lab.pathsAnd('--seccomp'), act)).toContain('Operation not permitted');
    },
  );

  it.each([
    ['shared and of no file', ['map_memory', hex(shared | unnamed)]],
    ['growing as a stack does', ['map_memory', hex(growsDown | unnamed | 2)]],
  ])('a limit of memory leaves none that it does not count: %s', async (_what, act) => {
    const limit = ['--rlimit', `data=${256 << 20}`];
    expect(await lab.attempt(lab.act(lab.pathsAnd('--seccomp'), ...act))).toBe('done');
    expect(await lab.stopped(lab.pathsAnd('--seccomp', ...limit), ...act)).toContain(
      'Operation not permitted',
    );
  });

  it('zeros that may only be read are no memory', async () => {
    const act = ['map_zeros', hex(shared)];
    expect(await lab.attempt(lab.act(lab.pathsAnd('--rw', '/dev/zero'), ...act))).toBe('done');
    expect(await lab.stopped(lab.pathsAnd('--ro', '/dev/zero'), ...act)).toContain('Permission denied');
  });

  it.each(['0', '1', '8'])('a file in memory is under no limit: none of flags %s', async (flags) => {
    expect(await lab.stopped(lab.pathsAnd('--seccomp'), 'memory_file', flags)).toContain(
      'Operation not permitted',
    );
  });
});
