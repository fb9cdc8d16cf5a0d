import { createSocket } from 'node:dgram';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { LauncherLab, probe, sayUntested, users } from '../support/launcher-lab.js';
import { until } from '../support/wait.js';

if (!probe.signalScope) sayUntested('scoped signals (landlock is older than version 6)');

describe.each(users)('as $name', (user) => {
  let lab: LauncherLab;
  beforeAll(() => {
    lab = new LauncherLab(user);
  });
  afterAll(() => lab.close());

  describe('sockets', () => {
    const port = (server: Server) => String((server.address() as { port: number }).port);

    async function serverAt(where: { port: number; host: string } | { path: string }): Promise<Server> {
      const server = createServer((socket) => socket.end()).listen(where);
      await until(() => server.listening, { what: 'a listening server' });
      return server;
    }

    it('no TCP, UDP, netlink, and no listening under --no-net', async () => {
      const server = await serverAt({ port: 0, host: '127.0.0.1' });
      try {
        for (const act of [['tcp', port(server)], ['udp', port(server)], ['listen'], ['netlink']]) {
          expect(await lab.stopped(lab.pathsAnd('--no-net'), ...act)).toContain('Operation not permitted');
        }
      } finally {
        server.close();
      }
    });

    it.each(['--no-net', '--no-unix'])('no unix socket of another program under %s', async (option) => {
      const path = join(lab.outside, 'service.sock');
      const server = await serverAt({ path });
      try {
        chmodSync(path, 0o777);
        expect(await lab.stopped(lab.pathsAnd(option), 'unix', path)).toContain('Operation not permitted');
      } finally {
        server.close();
      }
    });

    it('--no-unix leaves TCP', async () => {
      const server = await serverAt({ port: 0, host: '127.0.0.1' });
      try {
        expect(await lab.attempt(lab.act(lab.pathsAnd('--no-unix', '--seccomp'), 'tcp', port(server)))).toBe(
          'done',
        );
      } finally {
        server.close();
      }
    });

    it('an abstract socket outside is not reached where landlock scopes it', async () => {
      const server = await serverAt({ path: `\0toolkeeper-${lab.folder}` });
      try {
        expect(await lab.stopped(lab.pathsAnd('--no-net'), 'abstract', `toolkeeper-${lab.folder}`)).toContain(
          'not permitted',
        );
        const scoped = await lab.attempt(
          lab.act(lab.pathsAnd('--seccomp'), 'abstract', `toolkeeper-${lab.folder}`),
        );
        expect(scoped).toMatch(probe.signalScope ? /Operation not permitted/ : /done/);
      } finally {
        server.close();
      }
    });

    it('half a pair of datagram sockets does not reach a path', async () => {
      const path = join(lab.outside, 'log.sock');
      const receiver = [
        '-c',
        'import socket,sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); sys.stdin.read()',
      ];
      const child = lab.start([lab.python.executable, ...receiver, path]);
      await until(() => existsSync(path), { what: 'the receiver' });
      expect(await lab.stopped(lab.pathsAnd('--no-net'), 'datagram_pair', path)).toContain(
        'Operation not permitted',
      );
      child.stdin?.end();
    });

    it('a stream pair still works under --no-net', async () => {
      const script = 'import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1) == b"x")';
      const ended = await lab.run(
        lab.confined(lab.pathsAnd('--no-net', '--seccomp'), lab.python.executable, '-c', script),
      );
      expect(ended).toMatchObject({ code: 0, stdout: 'True\n' });
    });

    it('a UDP datagram does leave without the launcher', async () => {
      const receiver = createSocket('udp4').bind(0, '127.0.0.1');
      let received = 0;
      receiver.on('message', () => received++);
      await new Promise((done) => receiver.once('listening', done));
      const { port: udpPort } = receiver.address();
      expect(await lab.stopped(lab.pathsAnd('--no-net'), 'udp', String(udpPort))).toContain('not permitted');
      await until(() => received === 1, { what: 'the datagram of the unconfined act' });
      await new Promise<void>((done) => receiver.close(() => done()));
      expect(received).toBe(1);
    });
  });

  describe('other processes', () => {
    /** A shell that stands for the gateway; says `survived` when the command under it did not kill it. */
    const asGateway = (command: string[]) => ['bash', '-c', '"$@"; echo survived', 'bash', ...command];

    it.each([
      ['landlock', [] as string[]],
      ['the filter, where landlock is older', ['--landlock-abi', '5']],
    ])('the parent is not signalled: %s', async (_by, more) => {
      expect(await lab.run(asGateway(lab.act(undefined, 'signal_parent')))).toMatchObject({
        signal: 'SIGKILL',
      });
      const ended = await lab.run(asGateway(lab.act(lab.pathsAnd('--seccomp', ...more), 'signal_parent')));
      expect(ended.stdout).toMatch(/stopped: .*Operation not permitted\nsurvived\n/);
    });

    if (probe.signalScope) {
      it('a sibling is not signalled', async () => {
        const sibling = lab.start(['sleep', '60']);
        const act = ['signal_process', String(sibling.pid)];
        expect(await lab.attempt(lab.act(lab.pathsAnd('--seccomp'), ...act))).toContain(
          'Operation not permitted',
        );
        const ended = new Promise((done) => sibling.once('exit', (_code, signal) => done(signal)));
        expect(await lab.attempt(lab.act(undefined, ...act))).toBe('done');
        expect(await ended).toBe('SIGTERM');
      });
    }

    it('a child of the tool is', async () => {
      const script =
        'import subprocess as s; p = s.Popen(["/usr/bin/sleep", "60"]); p.terminate(); print(p.wait())';
      const list = [...lab.pathsAnd('--seccomp'), ...(probe.landlock ? ['--rx', '/usr/bin/sleep'] : [])];
      const ended = await lab.run(lab.confined(list, lab.python.executable, '-c', script));
      expect(ended).toMatchObject({ stdout: '-15\n', stderr: '' });
    });

    it('a tool does not leave its process group under --no-detach', async () => {
      expect(await lab.stopped(lab.pathsAnd('--no-detach'), 'new_session')).toContain('no new session');
    });

    it('modes outside stay as they are under --no-chmod', async () => {
      const file = lab.outsideFile('mode');
      expect(await lab.stopped(lab.pathsAnd('--no-chmod'), 'chmod', file)).toContain(
        'Operation not permitted',
      );
    });
  });

  describe('system calls (C)', () => {
    const acts = [
      'trace',
      'read_memory',
      'steal_file',
      'limit_other',
      'slow_other',
      'pin_other',
      'unshare_user',
      'clone_user',
      'clone3_user',
      'unshare_mounts',
      'mount_something',
      'change_root',
      'io_uring',
      'add_a_key',
      'page_faults',
      'change_personality',
      'vsock',
      'outlive_parent',
      ...(process.arch === 'x64' ? ['other_architecture'] : []),
    ];

    it.each(acts)('%s', async (act) => {
      if (lab.cActs === undefined) {
        sayUntested(`${act} (there is no gcc)`);
        return;
      }
      const victim = lab.start(['sleep', '60']);
      await until(
        () => victim.pid !== undefined && readFileSync(`/proc/${victim.pid}/comm`, 'utf8') === 'sleep\n',
        { what: 'a victim' },
      );
      const command = [lab.cActs, act, String(victim.pid)];
      const free = await lab.attempt(command);
      const options = [...(probe.landlock ? ['--rx', lab.cActs] : []), '--seccomp', '--pdeathsig'];
      const said = await lab.attempt(lab.confined(options, ...command));
      victim.kill('SIGKILL');
      if (free !== 'done') sayUntested(`${act} as ${user.name} (the host refuses it anyway: ${free})`);
      expect(said).toMatch(expected(act));
    });

    const expected = (act: string): RegExp => {
      if (act === 'clone3_user') return /^stopped: Function not implemented$/;
      if (act === 'vsock') return /^stopped: Address family not supported/;
      if (act === 'other_architecture') return /^stopped: code null signal SIGSYS/;
      return /^stopped: Operation not permitted$/;
    };
  });
});
