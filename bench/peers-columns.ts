import { OWN_RECORD, SECRET, toSignedRequest } from './auth-token.ts'
import type { Column } from './rest-columns.ts'
import { COLUMNS } from './rest-columns.ts'

/** The columns of the benchmark `rest` that all peers answer. */
const SHARED = ['get', 'find of 10', 'bracket query', 'create']
/** The same, where peers describe the error in their own words. */
const SHARED_ERRORS = ['unknown id 404', 'unknown path 404']

const BEARER = { request: toSignedRequest(SECRET), status: 200, body: OWN_RECORD ?? {} }

/** A token is verified for every request, and its user looked up and handed to whoever answers. */
const BEARER_COLUMNS: readonly Column[] = [
  // Where there is a cache of verified tokens, it is on.
  { ...BEARER, name: 'bearer', port: 'bearer' },
  { ...BEARER, name: 'bearer, no cache', port: 'uncached' },
  {
    name: 'bad token 401',
    port: 'bearer',
    request: toSignedRequest(`not ${SECRET}`),
    status: 401,
    body: isError('NotAuthenticated', 401),
  },
]

export const PEER_COLUMNS: readonly Column[] = [
  ...SHARED.map(findColumn),
  ...SHARED_ERRORS.map((name) => ({ ...findColumn(name), body: isError('NotFound', 404) })),
  ...BEARER_COLUMNS,
]

function findColumn(name: string): Column {
  const column = COLUMNS.find((one) => one.name === name)
  if (column === undefined) throw new TypeError(`There is no column '${name}'`)
  return column
}

/** Returns a check for the error of this name, and not another one with its status. */
function isError(name: string, code: number): (body: unknown) => boolean {
  return (body) => {
    const error = body as { readonly name?: unknown; readonly code?: unknown }
    return error.name === name && error.code === code
  }
}
