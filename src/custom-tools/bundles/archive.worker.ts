import { answerCalls } from '../../common/worker-calls.js';
import { pack, unpack, type Unpacked, type UnpackLimits } from './archive.js';

export interface ArchiveOrder {
  readonly archive: string;
  readonly folder: string;
  /** Absent: the folder is packed. */
  readonly limits?: UnpackLimits;
}

answerCalls<ArchiveOrder, Unpacked | undefined>(async ({ archive, folder, limits }) => {
  if (limits) return unpack(archive, folder, limits);
  await pack(folder, archive);
  return undefined;
});
