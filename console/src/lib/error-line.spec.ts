import { errorLine } from './error-line.js';

const python = `Traceback (most recent call last):
  File "/data/bundles/3f/tool.py", line 166, in <module>
    main()
  File "/data/bundles/3f/lib/parse.py", line 12, in parse
    return value["id"]
  File "/data/bundles/3f/tool.py", line 40, in main
    raise ValueError("at tool.py:9")
ValueError: at tool.py:9`;

const node = `file:///data/bundles/3f/tool.mjs:7
  null.foo();
TypeError: Cannot read properties of null (reading 'foo')
    at f (file:///data/bundles/3f/tool.mjs:7:8)
    at file:///data/bundles/3f/tool.mjs:21:1
    at async node:internal/modules/run_main:101:5`;

describe('errorLine', () => {
  // prevents a mark at the caller's line, or at a line of another file
  it.each([
    [python, 'tool.py', 40],
    [python, 'lib/parse.py', 12],
    [python, 'parse.py', 12],
    [python, 'ool.py', undefined],
    [node, 'tool.mjs', 7],
    ['    at f (/srv/t/tool.js:3:8)\n    at /srv/t/tool.js:9:1', 'tool.js', 3],
    ['SyntaxError: bad\n  File "tool.py", line 2', 'tool.py', 2],
    ['/srv/t/tool.sh: line 12: jqq: command not found', 'tool.sh', 12],
    ['./tool.sh: line 3: x\ntool.sh: line 5: y', 'tool.sh', 5],
    ['It ended with exit code 1', 'tool.py', undefined],
    ['tool+py:3', 'tool.py', undefined],
  ])('%# finds the line of the file', (text, path, line) => {
    expect(errorLine(text, path)).toBe(line);
  });
});
