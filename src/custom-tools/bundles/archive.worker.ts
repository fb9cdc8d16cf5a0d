import { answerCalls } from '../../common/worker-calls.js';
import { hashFolder, pack, unpack, type Unpacked, type UnpackLimits } from './archive.js';

export interface ArchiveOrder {
  readonly folder: string;
  /** Absent: the hash of the folder is asked for. */
  readonly archive?: string;
  /** Absent: the folder is packed. */
  readonly limits?: UnpackLimits;
}

answerCalls<ArchiveOrder, Unpacked | string | undefined>(async ({ archive, folder, limits }) => {
  if (archive === undefined) return hashFolder(folder);
  if (limits) return unpack(archive, folder, limits);
  await pack(folder, archive);
  return undefined;
});
