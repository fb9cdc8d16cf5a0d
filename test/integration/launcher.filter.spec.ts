import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sayUntested } from '../support/launcher-lab.js';
import { makeTestFolder } from '../support/test-folder.js';

const folder = makeTestFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const installed = (...names: string[]) => names.map((name) => `/usr/bin/${name}`).find(existsSync);
const source = resolve('test/fixtures/native/filter-check.c');

/** Decisions of the filters, worked out by a program of the same sources: on another architecture in an emulator. */
it.each([
  ['x64', 'x86_64-linux-gnu-gcc', 'qemu-x86_64-static'],
  ['arm64', 'aarch64-linux-gnu-gcc', 'qemu-aarch64-static'],
])('the filters of %s decide as they should', (arch, crossCompiler, emulator) => {
  const compiler = installed(crossCompiler, ...(process.arch === arch ? ['gcc'] : []));
  const runner = process.arch === arch ? [] : [installed(emulator) ?? ''];
  if (compiler === undefined || runner[0] === '') {
    sayUntested(`the decisions of the ${arch} filters (there is no ${compiler ? emulator : crossCompiler})`);
    return;
  }
  const program = join(folder, arch);
  const flags = ['-static', '-O1', '-std=gnu11', '-Wall', '-Wextra', '-Werror', '-Wno-unused-function'];
  execFileSync(compiler, [...flags, '-o', program, source]);
  const [command = '', ...args] = [...runner, program];
  const { stdout, status } = spawnSync(command, args, { encoding: 'utf8' });
  expect(stdout).toMatch(/^checked [12]\d\d\n$/);
  expect(status).toBe(0);
});
