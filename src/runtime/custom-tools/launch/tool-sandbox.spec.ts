import { Counter, Gauge, Registry } from 'prom-client';
import { loadConfig } from '../../../base/config/app-config.js';
import { Contributors } from '../../../base/observability/contributors.js';
import { ToolSpawner } from '../../process-pool/process-pool.module.js';
import { Sandbox } from '../../sandbox/sandbox.js';
import { Redactor } from '../../secrets/redactor.js';
import { ToolSandbox } from './tool-sandbox.js';

const metric = (name: string) => ({ name, help: name, registers: [new Registry()] });

it('says of files that went away meanwhile that the command is wrong, not that we failed', async () => {
  const sandbox = new ToolSandbox(
    loadConfig({}),
    new Sandbox({
      enabled: true,
      mode: 'enforce',
      defaults: { memoryMB: 512, processes: 64, temporaryMB: 64 },
      abilities: { bubblewrap: '/bwrap', countsProcesses: false, cgroups: {}, missing: {} },
      uid: 1,
      secrets: [],
      readOnly: [],
      grantable: [],
    }),
    new ToolSpawner(
      loadConfig({}),
      new Contributors(),
      new Gauge(metric('up')),
      new Gauge(metric('waiting')),
      new Counter(metric('restarts')),
    ),
  );
  const spec = { command: '/no/such/program', args: [], cwd: '/', env: {} };
  const launch = { spec, realPath: spec.command, ownPath: undefined, redactor: new Redactor({}) };
  await expect(
    sandbox.confine({ userNumber: 0, sandbox: null, permissions: null }, launch),
  ).rejects.toMatchObject({
    code: 'invalid_request',
    details: { errors: [{ pointer: '/command', detail: expect.stringContaining('/no/such/program') }] },
  });
});
