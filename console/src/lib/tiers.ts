/** The sandbox's tiers, in a word and in plain words. */
const tiers = [
  ['none', 'little: a clean environment, time-outs and output caps alone'],
  ['rules', 'rules of the kernel on files, network, memory and system calls'],
  ['namespaces', 'a place of its own with its own files and processes, and the rules of the kernel'],
  [
    'full',
    'a place of its own, the rules of the kernel, and limits on memory and processor time of all its processes',
  ],
] as const;

export const tierName = (tier: number): string => tiers[tier]?.[0] ?? 'unknown';
export const tierText = (tier: number): string => `${tiers[tier]?.[1] ?? 'something unknown'} (tier ${tier})`;
