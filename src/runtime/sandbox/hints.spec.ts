import { hintFor } from './hints.js';
import { isVisible } from './mounts.js';
import { type SandboxPolicy } from './sandbox-policy.js';

const policy = { network: 'none', memoryMB: 512, processes: 64 } as SandboxPolicy;
const hosts = { network: 'hosts' } as SandboxPolicy;
const open = { network: 'all' } as SandboxPolicy;
const mounts = {
  mounts: [
    { path: '/usr', access: 'rx' },
    { path: '/srv/tool', access: 'rx' },
    { path: '/srv/tool/closed', access: 'masked' },
  ],
  links: new Map([['/bin', 'usr/bin']]),
} as const;
const sees = (path: string): boolean => isVisible(mounts, path);

it.each([
  ['getaddrinfo ENOTFOUND api.example.com', /no network/],
  ["OSError: [Errno 30] Read-only file system: '/srv'", /allowedPaths/],
  ['sqlite3.OperationalError: unable to open database file', /allowedPaths/],
  ["fatal: detected dubious ownership in repository at '/srv/x'", /safe\.directory/],
  ['urllib.error.URLError: <urlopen error [Errno 111] Connection refused>', /no network/],
  ['ConnectionRefusedError: [Errno 111] Connection refused', /no network/],
  ['connect ECONNREFUSED 127.0.0.1:3230', /no network/],
  [
    'curl: (7) Failed to connect to 127.0.0.1 port 3230 after 0 ms: Could not connect to server',
    /no network/,
  ],
  ['dial tcp 127.0.0.1:3230: connect: connection refused', /no network/],
  ['java.net.ConnectException: Connection refused', /no network/],
])('%s', (error, hint) => {
  expect(hintFor(error, policy)).toMatch(hint);
});

// FileNotFoundError contains "eNotFound".
it.each([
  "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
  "FileNotFoundError: [Errno 2] No such file or directory: '/srv/tool/data.csv'",
  "FileNotFoundError: [Errno 2] No such file or directory: '/usr/share/x'",
  "ENOENT: no such file or directory, open '/srv/tool/x/y.json'",
  '/bin/sh: 1: foo: not found',
  `  File "/opt/x.py", line 1, in f\nFileNotFoundError: [Errno 2] No such file or directory: 'x'`,
  "at file:///home/a/x.mjs:3:5\nENOENT: no such file or directory, open 'data.json'",
  'ModuleNotFoundError: x',
  'reaccess',
])('%s gets no hint in a call', (error) => {
  expect(hintFor(error, policy, { sees })).toBeUndefined();
});

it.each([
  "FileNotFoundError: [Errno 2] No such file or directory: '/srv/data/x.csv'",
  "ENOENT: no such file or directory, open '/srv/tools/x.json'",
  'cat: /etc/hostname: No such file or directory',
  'open /srv/x.csv: no such file or directory',
  'java.io.FileNotFoundException: /home/ann/x.csv (No such file or directory)',
  'java.nio.file.NoSuchFileException: /home/ann/x.csv',
  'No such file or directory @ rb_sysopen - /home/ann/x.csv (Errno::ENOENT)',
  "No such file or directory: '/tmp/of-another.csv'",
  "No such file or directory: '/srv/tool/closed/../x' or '/opt/y'",
  'Error: No such file or directory (os error 2)',
])('%s gets a hint in a call, as its path is not in sight', (error) => {
  expect(hintFor(error, policy, { sees })).toMatch(/allowedPaths/);
});

it.each([
  "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
  'ERROR: /srv/repo does not exist',
  "Cannot find module 'playwright-core'",
])('%s of a tool that does not start gets a hint', (error) => {
  expect(hintFor(error, policy, { starting: true })).toMatch(/allowedPaths/);
});

it('a precise hint comes first when a tool does not start', () => {
  const error = "FileNotFoundError, then OSError: Read-only file system: '/srv'";
  expect(hintFor(error, policy, { starting: true })).toMatch(/with permissions\.canWriteFiles/);
});

it.each([
  'HTTP Error 403: Forbidden',
  'Tunnel connection failed: 403 Refused',
  'curl: (56) CONNECT tunnel failed, response 403',
  'Get "https://127.0.0.1:3230": Refused',
  "127.0.0.1:3230 is not among the tool's allowedHosts",
  'Proxy response (403) !== 200 when HTTP Tunneling',
])('%s names the port that allowedHosts lacks', (error) => {
  expect(hintFor(error, hosts, { denied: '127.0.0.1:3230' })).toMatch(/name the port: 127\.0\.0\.1:3230/);
  // Another server's answer.
  expect(hintFor(error, hosts)).toBeUndefined();
  expect(hintFor(error, open, { denied: '127.0.0.1:3230' })).toBeUndefined();
});

it('a client that goes around the proxy gets a hint, a host that refuses does not', () => {
  expect(hintFor('Temporary failure in name resolution', hosts)).toMatch(/HTTP_PROXY/);
  expect(hintFor('connect ECONNREFUSED 10.0.0.1:80', hosts)).toMatch(/HTTP_PROXY/);
  const told = 'The host cannot be reached: Error: connect ECONNREFUSED 127.0.0.1:3230';
  expect(hintFor(told, hosts)).toBeUndefined();
  expect(hintFor('connect ECONNREFUSED 10.0.0.1:80', open)).toBeUndefined();
});

const memory = /This tool may use 512 MB of memory \(sandbox\.maxMemoryMB\)/;

/** What runtimes and allocators write when memory ends, as it stands in a message or on stderr. */
it.each([
  ['V8', 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
  ['V8, a new thread', '# Fatal process out of memory: Failed to reserve virtual memory for CodeRange'],
  ['V8, a buffer', 'RangeError: Array buffer allocation failed'],
  ['V8, WebAssembly', 'RangeError: WebAssembly.Memory(): could not allocate memory'],
  ['a worker of Node', 'ERR_WORKER_OUT_OF_MEMORY: Worker terminated due to reaching memory limit'],
  ['Node, a system call', 'Error: ENOMEM: not enough memory, read'],
  ['Python', 'Traceback (most recent call last):\n  File "x.py", line 1\nMemoryError'],
  ['numpy', 'numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array'],
  ['Java', 'java.lang.OutOfMemoryError: Java heap space'],
  ['Java, the start', 'Error: Could not reserve enough space for 4194304KB object heap'],
  ['Java, the VM', '# There is insufficient memory for the Java Runtime Environment to continue.'],
  ['Java, the VM again', '# Native memory allocation (mmap) failed to map 268435456 bytes.'],
  ['Go', 'fatal error: runtime: out of memory'],
  ['Go, the arena', 'runtime: cannot allocate heap metadata: cannot allocate memory'],
  ['C++', "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"],
  ['Rust', 'memory allocation of 1073741824 bytes failed'],
  ['.NET', 'Unhandled exception. System.OutOfMemoryException: Exception of type'],
  ['.NET, the start', 'GC heap initialization failed with error 0x8007000E'],
  ['Ruby', '[FATAL] failed to allocate memory (NoMemoryError)'],
  ['Perl', 'Out of memory!'],
  ['OCaml', 'Fatal error: exception Out_of_memory'],
  ['Haskell', 'x: Heap exhausted;'],
  ['R', 'Error: cannot allocate vector of size 7.5 Gb'],
  ['Lua', 'lua: not enough memory'],
  ['make', 'virtual memory exhausted: Cannot allocate memory'],
  ['bash', 'bash: xrealloc: cannot allocate 18446744071562067968 bytes'],
  ['a fork', 'OSError: [Errno 12] Cannot allocate memory'],
  ['mimalloc', 'mimalloc: error: unable to allocate memory'],
  ['the kernel', 'The tool was ended by SIGKILL before it answered'],
  ['the kernel, in bubblewrap', 'The tool ended with exit code 137 before it answered'],
])('%s without memory names the limit', (_who, error) => {
  expect(hintFor(error, policy)).toMatch(memory);
});

it.each([
  ['Python', "RuntimeError: can't start new thread"],
  ['Java', 'java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory'],
  ['Go', 'runtime: failed to create new OS thread (have 63 already; errno=11)'],
  ['Node', 'Error: spawn /usr/bin/git EAGAIN'],
  ['bash', 'bash: fork: retry: Resource temporarily unavailable'],
  ['C++', "an instance of 'std::system_error'\n  what():  Resource temporarily unavailable"],
  ['OpenBLAS', 'OpenBLAS blas_thread_init: pthread_create failed for thread 7 of 8'],
  ['Rust', "thread 'main' panicked: failed to spawn thread: Os { code: 11 }"],
])('%s without threads names both limits', (_who, error) => {
  expect(hintFor(error, policy)).toMatch(/64 processes and threads \(SANDBOX_PROCESSES\).*maxMemoryMB/);
});

it.each([
  'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB',
  'Allowed memory size of 134217728 bytes exhausted (tried to allocate 8 bytes)',
  'the key was not found in memory',
  'in-memory database is locked',
  "OOM command not allowed when used memory > 'maxmemory'",
  'class MemoryErrors is not defined',
  'BlockingIOError: [Errno 11] Resource temporarily unavailable',
  'The tool ended with exit code 134 before it answered',
  'The tool ended with exit code 1370 before it answered',
  'The tool was ended by SIGTERM before it answered',
  'thread create failed',
])('%s is no lack of memory', (error) => {
  expect(hintFor(error, policy)).toBeUndefined();
});

it('a long error is read in time that grows with its length', () => {
  const began = performance.now();
  for (const part of ['memory allocation ', 'fork: ', 'spawn ', 'allocate ', 'CUDA']) {
    hintFor(part.repeat(20_000), policy);
  }
  expect(performance.now() - began).toBeLessThan(2_000);
});
