import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { projectRoot } from '../../../base/common/project.js';
import { LexicalRanker } from './lexical.ranker.js';
import type { PlaybookRanking } from '../playbook-ranker.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';

/**
 * Queries as an agent words an incident, with the playbooks that are right answers. The ranker's constants were set
 * on the tuned ones only; the untouched ones were written at the same time and show that they carry over.
 */
const tuned: readonly (readonly [string, readonly string[]])[] = [
  ['OOMKilled pod in production', ['oomkill-increase-memory', 'oomkill-reduce-footprint']],
  ['checkout container was terminated with exit code 137 after traffic doubled', ['oomkill-increase-memory']],
  ['pod keeps crashing', ['crashloop-repair']],
  ['pods in CrashLoopBackOff since this morning, exit code 1', ['crashloop-repair']],
  ['ImagePullBackOff for the frontend deployment, registry returns unauthorized', ['image-pull-repair']],
  ['liveness probe timing out and kubelet restarts the container', ['probe-failure-tuning']],
  ['deployment rollout has not made progress for 20 minutes', ['rollout-unstick']],
  ['HPA stuck at max replicas and latency climbing', ['hpa-at-maximum']],
  ['worker node NotReady, kubelet stopped posting status', ['node-not-ready-recovery']],
  ['node reports DiskPressure, container images fill the disk', ['node-disk-pressure-cleanup']],
  ['kubectl drain blocked by PodDisruptionBudget', ['node-drain-stuck']],
  ['CoreDNS SERVFAIL, services cannot resolve names', ['cluster-dns-repair']],
  ['nginx ingress returning 502 bad gateway for the api', ['ingress-5xx-upstream']],
  ['ECONNRESET errors between orders and billing', ['connection-reset-timeouts']],
  ['PersistentVolumeClaim stays Pending, no storage class', ['pvc-pending-provision']],
  ['Multi-Attach error, volume is attached to another node', ['volume-attach-stuck']],
  ['TLS certificate of the public website expired', ['tls-certificate-renew']],
  ['x509 certificate signed by unknown authority after CA renewal', ['ca-bundle-rotation']],
  ['error rate jumped right after the new release', ['deployment-rollback']],
  ['FATAL sorry too many clients already from postgres', ['postgres-connections-exhausted']],
  ['pg_wal has filled the disk because of an inactive replication slot', ['postgres-wal-disk-full']],
  ['redis refuses writes, used memory above maxmemory', ['redis-memory-relief']],
  ['pods forbidden: exceeded quota in namespace team-a', ['quota-exceeded-adjust']],
  ['serviceaccount cannot list pods: forbidden', ['rbac-forbidden-repair']],
  [
    'Investigate why the payments API in namespace prod-eu has been returning elevated error counts since 14:05; two of six replicas restarted, their last state says OOMKilled with a fixed limit, node usage looks normal',
    ['oomkill-increase-memory', 'oomkill-reduce-footprint'],
  ],
  [
    'Users report that every request to shop.example.com fails in the browser with ERR_CERT_DATE_INVALID since midnight, the backend pods are healthy and answer inside the cluster',
    ['tls-certificate-renew'],
  ],
];

const untouched: readonly (readonly [string, readonly string[]])[] = [
  ['OOMKilled critical memory leak java heap', ['memory-leak-contain', 'oomkill-reduce-footprint']],
  ['Memory leak from unclosed database connections causing OOMKilled', ['memory-leak-contain']],
  ['init container waits forever for the migration, pod stays in Init:0/1', ['init-container-repair']],
  ['kubelet evicted several pods, node was low on ephemeral-storage', ['pod-eviction-recovery']],
  ['0/6 nodes are available: insufficient cpu, pod unschedulable', ['pod-pending-scheduling']],
  ['nightly CronJob failed with BackoffLimitExceeded', ['job-failure-cleanup']],
  ['host under MemoryPressure, SystemOOM events', ['node-memory-pressure-relief']],
  ['fork: resource temporarily unavailable on one node', ['node-pid-pressure-relief']],
  ['kernel soft lockup messages in dmesg, machine reboots', ['node-kernel-fault-replace']],
  ['JWT rejected as used before issued, NTP offset on the host', ['node-clock-skew-correct']],
  [
    'traffic dropped between namespaces since a default-deny NetworkPolicy was applied',
    ['network-policy-unblock'],
  ],
  ['service type LoadBalancer shows EXTERNAL-IP pending', ['load-balancer-no-targets']],
  ['large uploads hang while small requests succeed, MTU suspected', ['mtu-mismatch-correct']],
  ['ENOSPC on the data volume of kafka-0', ['volume-expand-full']],
  ['fsync latency of etcd is high, iowait 60 percent', ['slow-disk-io']],
  ['ACME challenge stays pending and cert-manager does not issue', ['cert-manager-issuance-unblock']],
  ['Argo CD application OutOfSync after somebody edited the deployment by hand', ['gitops-drift-reconcile']],
  ['service fails to start: could not find key in ConfigMap', ['config-change-revert']],
  ['read replica is minutes behind the primary', ['postgres-replication-lag']],
  ['deadlock detected and statement timeouts in the orders database', ['postgres-locks-slow-queries']],
  ['cluster autoscaler NotTriggerScaleUp, node group at max size', ['cluster-autoscaler-stuck']],
  ['high p99 latency, cfs throttled periods above 40 percent', ['cpu-throttling-relief']],
  ['calls to the payment provider fail with 401, the API key expired', ['expired-token-rotation']],
  ['staging cluster has no spare capacity for important pods', ['noncritical-scale-down']],
  [
    'Since the maintenance on Tuesday evening the ledger service cannot start on its new machine: the pod sits in ContainerCreating and events repeat FailedAttachVolume for the claim that the old machine still holds',
    ['volume-attach-stuck'],
  ],
  [
    'The orders API became slow for customers in Europe around noon, p95 went from 80 ms to 2 s; traces show that time is spent waiting on locks in PostgreSQL and one transaction has been open for 40 minutes',
    ['postgres-locks-slow-queries'],
  ],
];

const offTopic: readonly string[] = [
  'nonexistent_signal_type_xyz',
  'asdf qwerty zxcv',
  '!!! ??? ...',
  'best pizza recipe with mushrooms',
  'book a flight from Berlin to Lisbon for two people',
  'what is the capital of France',
  'who won the football world cup in 1998',
  'translate good morning into Japanese',
  'write a poem about the sea in autumn',
  'quarterly marketing budget meeting agenda',
  'my coffee machine loses pressure',
  'company holiday policy for new employees',
  'raise my salary to the market limit',
  'learn to play the guitar at home',
  'python list comprehension with two loops',
  'how to center a div in css',
  'the weather in Oslo tomorrow',
  'recommend a novel about the second world war',
  'birthday present for my sister',
  'tax return deadline for freelancers',
  'Our team plans a summer party in the garden behind the office: we want a barbecue, music until ten, games for the children and a tent in case it rains, and the budget per person is limited to thirty euros',
  'Please summarise the attached article about the history of railways in Europe, name the most important dates, and explain why the state took over private companies after the first world war',
];

const folder = join(projectRoot(), 'playbooks');
const catalogue = readdirSync(folder).map((file): SearchablePlaybook => ({
  labels: {},
  ...parse(readFileSync(join(folder, file), 'utf8')),
}));
const everything = new Set(catalogue.map((playbook) => playbook.playbook_id));
const threshold = 0.7;

let ranking: PlaybookRanking;
beforeAll(async () => {
  ranking = await new LexicalRanker().prepare(catalogue);
});

async function shown(query: string) {
  const { playbooks } = await ranking.rank({ query, threshold, limit: 5 }, everything);
  return playbooks.filter(({ confidence }) => confidence >= threshold).slice(0, 5);
}

async function recall(queries: typeof tuned, within: number): Promise<number> {
  const hits = await Promise.all(
    queries.map(async ([query, right]) =>
      (await shown(query)).slice(0, within).some(({ playbookId }) => right.includes(playbookId)),
    ),
  );
  return hits.filter(Boolean).length / hits.length;
}

describe('ranking the sample catalogue at the default threshold of 0.70', () => {
  it('has only known playbooks as right answers', () => {
    const answers = [...tuned, ...untouched].flatMap(([, right]) => right);
    expect(answers.filter((id) => !everything.has(id))).toEqual([]);
  });

  it.each([
    ['tuned', tuned],
    ['untouched', untouched],
  ])('finds the right playbook for the %s queries', async (_half, queries) => {
    expect(await recall(queries, 5)).toBeGreaterThanOrEqual(0.85);
    expect(await recall(queries, 1)).toBeGreaterThanOrEqual(0.75);
  });

  it('shows few playbooks beside the right one', async () => {
    const answers = await Promise.all([...tuned, ...untouched].map(([query]) => shown(query)));
    expect(answers.flat().length / answers.length).toBeLessThan(3);
  });

  it.each(['pod issue', 'the service', 'help me please'])(
    'does not guess from %p, which says too little',
    async (query) => {
      expect(await shown(query)).toEqual([]);
    },
  );

  it.each(offTopic)('shows nothing for %p', async (query) => {
    expect(await shown(query)).toEqual([]);
  });
});
