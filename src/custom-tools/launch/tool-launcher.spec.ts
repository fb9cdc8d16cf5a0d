import { HttpAdapterHost } from '@nestjs/core';
import { Counter, Gauge, Registry } from 'prom-client';
import { loadConfig } from '../../config/app-config.js';
import { Contributors } from '../../observability/contributors.js';
import { Sandbox } from '../../sandbox/sandbox.js';
import { Redactor } from '../../secrets/redactor.js';
import { ToolLauncher } from './tool-launcher.js';

const metric = (name: string) => ({ name, help: name, registers: [new Registry()] });

it('says of files that went away meanwhile that the command is wrong, not that we failed', async () => {
  const launcher = new ToolLauncher(
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
    new Contributors(),
    new Gauge(metric('up')),
    new Gauge(metric('waiting')),
    new Counter(metric('restarts')),
    new HttpAdapterHost(),
  );
  const spec = { command: '/no/such/program', args: [], cwd: '/', env: {} };
  const launch = { spec, realPath: spec.command, place: undefined, redactor: new Redactor({}) };
  await expect(
    launcher.confine({ protocol: 'jsonrpc', userNumber: 0, sandbox: null, permissions: null }, launch),
  ).rejects.toMatchObject({
    code: 'invalid_request',
    details: { errors: [{ pointer: '/command', detail: expect.stringContaining('/no/such/program') }] },
  });
});
