import { maxNoticeChars } from '../../process-pool/notices.js';
import type { ToolNotice } from '../../tool-contract/tool-notice.js';
import type { Redactor } from './redactor.js';

/** Takes the values of a tool's environment out of what it says while it works. */
export function cleanNotice<N extends ToolNotice>(notice: N, redactor: Redactor): N {
  const { message } = notice;
  return {
    ...notice,
    ...(message !== undefined && {
      // The pool does not say that it shortened a message.
      message: redactor.clean(message, { end: message.length >= maxNoticeChars }),
    }),
    ...('data' in notice && { data: redactor.cleanJson(notice.data) }),
  };
}
