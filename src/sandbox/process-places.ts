import { existsSync } from 'node:fs';

/**
 * Without a process namespace /proc shows everybody: a tool gets what interpreters read of itself, and what says
 * nothing of others. Not the folder of itself: below it stand the host's mounts and the sockets of everybody.
 */
const ofItself = [
  ...[
    'stat',
    'statm',
    'status',
    'maps',
    'smaps',
    'smaps_rollup',
    'cmdline',
    'comm',
    'environ',
    'auxv',
    'limits',
  ],
  ...['fd', 'fdinfo', 'io', 'cgroup', 'oom_score', 'oom_score_adj'],
].map((name) => `/proc/self/${name}`);
const ofEverybody = ['meminfo', 'cpuinfo', 'stat', 'loadavg', 'filesystems'].map((name) => `/proc/${name}`);
/** A kernel may be built without some of them. */
const ofProcesses = [...ofItself, ...ofEverybody].filter((path) => existsSync(path));

/** Not zero: a shared mapping of it that may be written is memory that no limit counts. */
const writableDevices = ['/dev/null', '/dev/full'];
const readableDevices = ['/dev/zero', '/dev/random', '/dev/urandom'];
const terminals = ['/dev/tty', '/dev/pts'];

/** The granted parts of /proc and /dev where a tool has namespaces of its own. */
export const ownNamespace = {
  read: ['/proc', '/dev'],
  write: [...writableDevices, ...terminals, '/dev/shm'],
};

/** The granted parts of the host's /proc and /dev. */
export const ownProcess = { read: [...ofProcesses, ...readableDevices], write: writableDevices };
