/** Names and descriptions of the sandbox's tiers. */
const tiers = [
  ['none', 'only a clean environment, timeouts and output limits'],
  ['rules', 'kernel rules on files, network, memory and system calls'],
  [
    'namespaces',
    'its own view of files and processes (namespaces), and kernel rules on files, network and system calls',
  ],
  ['full', 'namespaces, kernel rules, and limits on the memory and processor time of all its processes'],
] as const;

export const tierName = (tier: number): string => tiers[tier]?.[0] ?? 'unknown';
export const tierText = (tier: number): string =>
  `${tiers[tier]?.[1] ?? 'an unknown sandbox'} (tier ${tier})`;
