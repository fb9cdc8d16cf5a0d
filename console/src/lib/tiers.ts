/** The sandbox's tiers in plain words. */
const tiers = [
  'little: a clean environment, time-outs and output caps alone',
  'rules of the kernel on files, network, memory and system calls',
  'a place of its own with its own files and processes, and the rules of the kernel',
  'a place of its own, the rules of the kernel, and limits on memory and processor time of all its processes',
] as const;

export const tierText = (tier: number): string => `${tiers[tier] ?? 'something unknown'} (tier ${tier})`;
