import { answerCalls } from '../../../base/common/worker-calls.js';
import { hashFolder, unpack, type Unpacked, type UnpackLimits } from './archive.js';

/** An archive to unpack into a folder; or, without an archive, a folder to hash. */
export type ArchiveOrder =
  | { readonly folder: string; readonly archive?: undefined }
  | { readonly folder: string; readonly archive: string; readonly limits: UnpackLimits };

answerCalls<ArchiveOrder, Unpacked | string>(async (order) =>
  order.archive === undefined ? hashFolder(order.folder) : unpack(order.archive, order.folder, order.limits),
);
