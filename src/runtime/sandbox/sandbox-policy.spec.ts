import { resolvePolicy, type SandboxDemands } from './sandbox-policy.js';

const defaults = { memoryMB: 512, processes: 64, temporaryMB: 64 };
const policy = (demands: SandboxDemands) => resolvePolicy(demands, defaults);

describe('resolvePolicy', () => {
  it('gives a tool that asks for nothing no network, no paths, and bounded memory and processes', () => {
    expect(policy({})).toMatchObject({
      ...defaults,
      paths: [],
      write: false,
      network: 'none',
      hosts: [],
      execute: true,
    });
    expect(policy({}).explicit.size).toBe(0);
    expect([...policy({}).restricts]).toEqual(expect.arrayContaining(['allowNetwork', 'processes']));
  });

  it.each<[string, SandboxDemands, object]>([
    ['either grants the network', { allowNetwork: true }, { network: 'all' }],
    ['so does the permission', { canNetwork: true }, { network: 'all' }],
    ['the permission withdraws it', { allowNetwork: true, canNetwork: false }, { network: 'none' }],
    ['so does the setting', { allowNetwork: false, canNetwork: true }, { network: 'none' }],
    ['hosts grant themselves', { allowedHosts: ['a.example'] }, { network: 'hosts', hosts: ['a.example'] }],
    ['hosts narrow a grant', { allowNetwork: true, allowedHosts: ['a.example'] }, { network: 'hosts' }],
    ['no hosts are no network', { allowNetwork: true, allowedHosts: [] }, { network: 'none' }],
    ['no network has no hosts', { canNetwork: false, allowedHosts: ['a'] }, { network: 'none', hosts: [] }],
    ['paths are read', { allowedPaths: ['/data'] }, { paths: ['/data'], write: false }],
    ['and written with the permission', { allowedPaths: ['/data'], canWriteFiles: true }, { write: true }],
    ['not without a path', { canWriteFiles: true }, { paths: [], write: false }],
    [
      'who may not read may not write either',
      { allowedPaths: ['/data'], canReadFiles: false, canWriteFiles: true },
      { paths: [], write: false },
    ],
    ['commands can be withdrawn', { canExecuteCommands: false }, { execute: false }],
    [
      'limits take the place of defaults',
      { maxMemoryMB: 64, maxCpuPercent: 50 },
      { memoryMB: 64, cpuPercent: 50 },
    ],
  ])('%s', (_what, demands, expected) => {
    expect(policy(demands)).toMatchObject(expected);
  });

  it('counts restrictions as explicit, grants not', () => {
    const { explicit } = policy({
      allowNetwork: true,
      canWriteFiles: true,
      canExecuteCommands: false,
      maxCpuPercent: 5,
    });
    expect([...explicit].sort()).toEqual(['canExecuteCommands', 'maxCpuPercent']);
  });

  it('leaves nothing to enforce of a network that is granted', () => {
    expect(policy({ allowNetwork: true }).restricts.has('allowNetwork')).toBe(false);
    expect(policy({ allowedHosts: ['a'] }).restricts.has('allowedHosts')).toBe(true);
  });
});
