import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { LauncherLab, probe, sayUntested, self, users } from '../support/launcher-lab.js';
import { until } from '../support/wait.js';

const everything = ['--seccomp', '--no-net', '--no-detach', '--no-chmod', '--pdeathsig'];

describe.each(users)('as $name', (user) => {
  let lab: LauncherLab;
  beforeAll(() => {
    lab = new LauncherLab(user);
  });
  afterAll(() => lab.close());

  describe('resources', () => {
    it('1 GB is not allocated under --rlimit data', async () => {
      const size = String(1 << 30);
      expect(await lab.stopped(['--rlimit', `data=${256 << 20}`], 'allocate', size)).toContain('MemoryError');
      expect(await lab.attempt(lab.act(['--rlimit', `data=${256 << 20}`], 'allocate', '1000000'))).toBe(
        'done',
      );
    });

    it('a file does not grow over --rlimit fsize', async () => {
      const file = join(lab.work, 'large');
      expect(await lab.stopped(['--rlimit', 'fsize=1000000'], 'grow', file, '2000000')).toContain(
        'File too large',
      );
    });

    it('a CPU spin ends by SIGXCPU under --rlimit cpu', async () => {
      expect(await lab.stopped(['--rlimit', 'cpu=1'], 'spin', '1.2')).toContain('SIGXCPU');
    });

    it('no more files than --rlimit nofile', async () => {
      expect(await lab.stopped(['--rlimit', 'nofile=20'], 'files', '30')).toContain('Too many open files');
    });

    it('--rlimit nproc bounds a fork bomb of an ordinary user, and does nothing for root', async () => {
      const bomb = ['forks', '300'];
      if (user.uid !== 0)
        expect(await lab.stopped(['--rlimit', 'nproc=100'], ...bomb)).toContain('BlockingIOError');
      else expect(await lab.attempt(lab.act(['--rlimit', 'nproc=100'], ...bomb))).toBe('done');
    });

    if (user.uid === 0) {
      it('--user makes an ordinary user of root, whose fork bomb is bounded', async () => {
        const options = ['--user', '60123:60123', '--rlimit', 'nproc=100'];
        expect(await lab.attempt(lab.act(options, 'forks', '50'))).toBe('done');
        expect(await lab.stopped(options, 'forks', '300')).toContain('BlockingIOError');
        expect(await lab.stopped(options, 'read', '/etc/shadow')).toContain('Permission denied');
        const { stdout } = await lab.run(
          lab.confined(options, 'bash', '-c', 'id -u; id -G; grep CapBnd /proc/self/status'),
        );
        expect(stdout).toBe('60123\n60123\nCapBnd:\t0000000000000000\n');
      });
    } else {
      it('--user is for root alone', async () => {
        const ended = await lab.run(lab.confined(['--user', '60123:60123'], 'bash', '-c', 'echo ran'));
        const stderr = 'toolkeeper-launcher: user 60123:60123: Operation not permitted\n';
        expect(ended).toMatchObject({ code: 125, stdout: '', stderr });
      });
    }

    it('a limit once set is not raised again, not by root either', async () => {
      const options = ['--seccomp', '--rlimit', `data=${256 << 20}`];
      expect(await lab.attempt(lab.act(options, 'raise_limit'))).toMatch(/stopped: .*not allowed to raise/);
      if (user.uid === 0) expect(await lab.stopped(options, 'raise_limit')).toContain('not allowed');
    });

    it('core dumps are off unless a size is given', async () => {
      const shown = ['bash', '-c', 'ulimit -c'];
      expect(await lab.run(lab.confined([], ...shown))).toMatchObject({ stdout: '0\n' });
    });

    it('no limit is raised: the lower one stays', async () => {
      const inner = lab.confined(['--rlimit', 'nofile=4096'], 'bash', '-c', 'ulimit -n');
      expect(await lab.run(lab.confined(['--rlimit', 'nofile=64'], ...inner))).toMatchObject({
        stdout: '64\n',
      });
    });
  });

  it('root loses its capabilities under --seccomp', async () => {
    const { stdout } = await lab.run(
      lab.confined(['--seccomp'], 'grep', '-E', '^Cap(Eff|Prm|Inh)|NoNewPrivs', '/proc/self/status'),
    );
    expect(stdout.replace(/\s+/g, ' ').trim()).toBe(
      'CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 NoNewPrivs: 1',
    );
  });

  it('a tool dies with its parent under --pdeathsig', async () => {
    const parent = lab.start([
      'bash',
      '-c',
      '"$@" & echo $!; wait',
      'bash',
      ...lab.confined(['--pdeathsig'], 'sleep', '60'),
    ]);
    let pid = 0;
    parent.stdout?.once('data', (text: Buffer) => (pid = Number(text.toString())));
    await until(() => pid > 0 && readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n', {
      what: 'the tool',
    });
    parent.kill('SIGKILL');
    await until(
      () => !existsSync(`/proc/${pid}/cmdline`) || readFileSync(`/proc/${pid}/cmdline`, 'utf8') === '',
      { what: 'the end of the tool' },
    );
  });

  it('nothing runs when the parent is not who it was said to be', async () => {
    const ended = await lab.run(lab.confined(['--pdeathsig', '--parent', '1'], 'bash', '-c', 'echo ran'));
    expect(ended).toMatchObject({
      code: 125,
      stdout: '',
      stderr: 'toolkeeper-launcher: the parent 1 is gone\n',
    });
  });

  it('files that the parent left open are closed', async () => {
    const shell = 'exec 7</etc/hostname; "$@"';
    const shown = (options?: string[]) =>
      lab.run([
        'bash',
        '-c',
        shell,
        'bash',
        ...lab.confined(options, 'bash', '-c', 'test -e /proc/self/fd/7 && echo open'),
      ]);
    expect(await shown()).toMatchObject({ stdout: 'open\n' });
    expect(await shown([])).toMatchObject({ code: 1, stdout: '' });
  });

  describe('ordinary tools run', () => {
    const list = (more: string[]) => [...(probe.landlock ? more : []), ...everything];

    it('Python', async () => {
      const script = `import asyncio, ctypes, hashlib, json, subprocess, sys, tempfile, threading
threading.Thread(target=print, args=("thread",)).start()
async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('child')", stdout=subprocess.PIPE)
    print((await p.communicate())[0].decode().strip())
asyncio.run(main())
with tempfile.TemporaryFile() as f: f.write(b"x")
print(json.dumps({"sum": hashlib.sha256(b"").hexdigest()[:8]}))`;
      const ended = await lab.run(lab.confined(list(lab.pythonPaths), lab.python.executable, '-c', script), {
        TMPDIR: lab.work,
      });
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout.split('\n').sort()).toEqual(['', 'child', 'thread', '{"sum": "e3b0c442"}']);
    });

    it('Node', async () => {
      const node = lab.copied(process.execPath);
      const script = `const { Worker } = require('node:worker_threads');
const { spawn } = require('node:child_process');
require('node:fs').writeFileSync(process.env.TMPDIR + '/x', 'x');
require('node:zlib').gzip('x', () => console.log(require('node:crypto').randomBytes(4).length, process.memoryUsage().heapUsed > 0));
new Worker('console.log("worker")', { eval: true });
spawn(process.execPath, ['-e', 'console.log("child")'], { stdio: 'inherit' });`;
      const paths = [...lab.pathsOf(node), '--ro', '/proc/self/stat', '--rw', lab.work, '--rw', '/dev/null'];
      const command = lab.confined(list(paths), node, '-e', script);
      const ended = await lab.run(command, { TMPDIR: lab.work, OPENSSL_CONF: '/dev/null' });
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout.split('\n').sort()).toEqual(['', '4 true', 'child', 'worker']);
    });

    it('bash', async () => {
      const script =
        'x=$(echo sub); read -r y <<< "$x"; (echo "pipe $y") | while read -r l; do echo "$l" > out; done; cat=$(<out); echo "$cat"; printf "%s\\n" "${BASH_VERSION:+version}"';
      const paths = [...lab.pathsOf('/usr/bin/bash'), '--rw', lab.work, '--rw', '/dev/null'];
      const ended = await lab.run(lab.confined(list(paths), '/usr/bin/bash', '--norc', '-c', script), {
        TMPDIR: lab.work,
      });
      expect(ended).toEqual({ code: 0, signal: null, stderr: '', stdout: 'pipe sub\nversion\n' });
    });

    it('bash with the commands of the system', async () => {
      const folders = ['/usr', '/bin', '/lib', '/lib64'].filter(existsSync).map((path) => realpathSync(path));
      const broad = folders.flatMap((path) => ['--rx', path]);
      const paths = [...broad, '--rw', lab.work, '--rw', '/dev/null'];
      const script = 'seq 3 | sort -r | xargs echo; ls /usr >/dev/null && id -u';
      const ended = await lab.run(lab.confined(list(paths), 'bash', '--norc', '-c', script));
      expect(ended).toEqual({ code: 0, signal: null, stderr: '', stdout: `3 2 1\n${user.uid}\n` });
    });
  });
});

describe('the command line', () => {
  let lab: LauncherLab;
  beforeAll(() => {
    lab = new LauncherLab(self);
  });
  afterAll(() => lab.close());

  it.each([
    [[], 'no command: launcher [options] -- command [args...]'],
    [['--seccomp', '--'], 'no command: launcher [options] -- command [args...]'],
    [['--nonsense', '--', 'true'], "unknown option '--nonsense' (the command stands behind --)"],
    [['true'], "unknown option 'true' (the command stands behind --)"],
    [['--ro'], '--ro needs a value'],
    [
      ['--rlimit', 'data', '--', 'true'],
      "--rlimit takes data, nproc, fsize, nofile, cpu or core, '=' and a number, not 'data'",
    ],
    [
      ['--rlimit', 'stack=1', '--', 'true'],
      "--rlimit takes data, nproc, fsize, nofile, cpu or core, '=' and a number, not 'stack=1'",
    ],
    [['--user', '0:5', '--', 'true'], '--user takes neither 0 nor 4294967295'],
    [['--user', '12', '--', 'true'], "--user takes UID:GID, not '12'"],
    [['--user', '12:x', '--', 'true'], "a part of --user is not a whole number of 0 or more: 'x'"],
    [['--rlimit', 'cpu=1s', '--', 'true'], "the value of --rlimit is not a whole number of 0 or more: '1s'"],
    [['--rlimit', 'cpu=-1', '--', 'true'], "the value of --rlimit is not a whole number of 0 or more: '-1'"],
    [
      ['--rlimit', 'cpu=99999999999999999999', '--', 'true'],
      "the value of --rlimit is not a whole number of 0 or more: '99999999999999999999'",
    ],
  ])('%j is refused', async (args, message) => {
    expect(await lab.run([lab.launcher, ...args])).toEqual({
      code: 125,
      signal: null,
      stdout: '',
      stderr: `toolkeeper-launcher: ${message}\n`,
    });
  });

  it.each([
    ['/no/such/command', 127, 'No such file or directory'],
    ['no-such-command', 127, 'No such file or directory'],
    ['/etc', 126, 'Permission denied'],
  ])('%s: %i', async (command, code, reason) => {
    expect(await lab.run(lab.confined(['--seccomp'], command))).toEqual({
      code,
      signal: null,
      stdout: '',
      stderr: `toolkeeper-launcher: cannot run ${command}: ${reason}\n`,
    });
  });

  it('hands over arguments, exit code and standard input and output', async () => {
    const ended = await lab.run(
      lab.confined(everything, 'bash', '-c', 'echo "$#:$2"; echo err >&2; exit 7', 'bash', 'a', '-- b'),
    );
    expect(ended).toEqual({ code: 7, signal: null, stdout: '2:-- b\n', stderr: 'err\n' });
  });

  it('probes what works here', async () => {
    const { stdout, code } = await lab.run([lab.launcher, '--probe']);
    const seen = JSON.parse(stdout) as typeof probe;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\{.*\}\n$/);
    expect(seen).toEqual({
      landlockAbi: expect.any(Number),
      landlock: seen.landlockAbi >= 1,
      signalScope: seen.landlockAbi >= 6,
      seccomp: true,
      pdeathsig: true,
      uid: process.getuid?.(),
    });
  });

  it('probes under a filter what the filter leaves', async () => {
    // As in a container whose own filter knows nothing of landlock: here a list of paths that was used up.
    const nested = Array.from({ length: 16 }, () => lab.confined(['--rx', '/'], '')).flatMap((part) =>
      part.slice(0, -1),
    );
    const { stdout } = await lab.run([...nested, lab.launcher, '--probe']);
    const expected = { landlockAbi: probe.landlockAbi, landlock: false, signalScope: false, seccomp: true };
    if (probe.landlock) expect(JSON.parse(stdout)).toMatchObject(expected);
    else sayUntested('landlock that is there and does not work');
  });
});
