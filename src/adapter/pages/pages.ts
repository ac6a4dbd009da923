import type { CallFeature } from '../call-feature.ts'
import { KEYSET_NAMES } from '../queries/query-filters.ts'
import { findKeysetPage } from './keyset-page.ts'
import { readKeysetRequest } from './keyset-request.ts'
import { createPageCursors } from './page-cursor.ts'

/** Pages with cursors, in `find` alone: the query of any other call may not ask for one. */
export const PAGES: CallFeature = {
  askedBy: { names: KEYSET_NAMES },
  createRule({ service, params, isFind }) {
    const asked = isFind ? readKeysetRequest(params.query) : undefined
    if (asked === undefined) return undefined
    return {
      query: asked.query,
      find: (call) =>
        findKeysetPage(call, asked, (scope) => createPageCursors(service, call.settings, scope)),
    }
  },
}
