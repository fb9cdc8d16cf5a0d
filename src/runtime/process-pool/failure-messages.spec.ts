import { errorLine } from './failure-messages.js';

it.each([
  [
    'Python',
    'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    1/0\n    ~^~\nZeroDivisionError: division by zero',
    'ZeroDivisionError: division by zero',
  ],
  [
    'Node',
    "/x.js:3\nthrow new Error('boom')\n^\n\nError: boom\n    at Object.<anonymous> (/x.js:3:7)\n    at node:internal/main:1:1\n\nNode.js v24.1.0\n",
    'Error: boom',
  ],
  [
    'Go',
    'panic: boom\n\ngoroutine 1 [running]:\nmain.work(...)\n\t/x/main.go:4\nmain.main()\n\t/x/main.go:8 +0x1d\nexit status 2\n',
    'panic: boom',
  ],
  [
    'Rust',
    "thread 'main' panicked at src/main.rs:2:5:\nboom\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
    'boom',
  ],
  [
    'Java',
    'Exception in thread "main" java.lang.RuntimeException: boom\n\tat Main.main(Main.java:3)\nCaused by: java.io.IOException: disk\n\t... 1 more\n',
    'Caused by: java.io.IOException: disk',
  ],
  ['Ruby', "x.rb:1:in `<main>': boom (RuntimeError)\n", "x.rb:1:in `<main>': boom (RuntimeError)"],
  ['bash', 'x.sh: line 3: foo: command not found\n', 'x.sh: line 3: foo: command not found'],
  [
    'pydantic',
    'pydantic_core.ValidationError: 1 validation error for A\nb\n  Field required [type=missing]\n    For further information visit https://errors.pydantic.dev/2\n',
    'Field required [type=missing]',
  ],
  ['a stack alone', '    at a (x.js:1:1)\n    at b (x.js:2:1)\n', 'at b (x.js:2:1)'],
  ['nothing', '', ''],
])('names the error of %s', (_language, stderr, told) => expect(errorLine(stderr)).toBe(told));
