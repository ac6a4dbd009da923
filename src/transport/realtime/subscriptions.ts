import { InvalidStream } from '../../core/errors/coded-errors.ts'
import { quoteName } from '../parsing/parameters.ts'

/** One of the streams that a client requests on a connection. */
export interface Subscription {
  readonly id: string
  /** The path and the query of a `GET` on the same server. */
  readonly url: string
  /** The id of the last frame that the client has received of it. */
  readonly after?: string
}

/**
 * A path on this server, possibly with a query. It excludes other servers and characters that a request cannot contain.
 */
const URL_FORM = /^\/(?![/\\])[!"$-~]*$/
const MAX_URL_LENGTH = 16_384
const ID_FORM = /^[A-Za-z0-9_-]{1,32}$/
const AFTER_FORM = /^[!-~]{1,512}$/

/**
 * Returns the subscriptions listed in the body of a request.
 * @param max the maximum number
 * @throws {BadRequest} the body is not such a list
 */
export function readSubscriptions(body: unknown, max: number): readonly Subscription[] {
  const { subscriptions: list, ...others } = Object(body) as Record<string, unknown>
  checkNames('The body', others)
  if (!Array.isArray(list) || list.length === 0 || list.length > max) {
    throw new InvalidStream(`'subscriptions' must be a list of 1 to ${max} subscriptions`)
  }
  const ids = new Set<unknown>()
  const places = new Set<unknown>()
  for (const one of list as readonly unknown[]) {
    const { id, url, after, ...unknown } = Object(one) as Record<string, unknown>
    checkNames('A subscription', unknown)
    check('id', ID_FORM, id, '1 to 32 letters, digits, _ and -')
    check('url', URL_FORM, url, 'a path that begins with one slash, with its query')
    if (after !== undefined) check('after', AFTER_FORM, after, 'the id of a frame')
    if (String(url).length > MAX_URL_LENGTH) {
      throw new InvalidStream(`The url of a subscription can have ${MAX_URL_LENGTH} characters`)
    }
    if (ids.has(id)) throw new InvalidStream(`Two subscriptions have the id '${id}'`)
    if (after !== undefined && places.has(after)) {
      throw new InvalidStream("Two subscriptions have the same 'after'")
    }
    ids.add(id)
    places.add(after)
  }
  return list as readonly Subscription[]
}

/** @throws {BadRequest} a member is unknown */
function checkNames(what: string, others: object): void {
  const [name] = Object.keys(others)
  if (name !== undefined)
    throw new InvalidStream(`${what} has an unknown member ${quoteName(name)}`)
}

/** @throws {BadRequest} a member is not a string of this form */
function check(name: string, form: RegExp, value: unknown, expected: string): void {
  if (typeof value === 'string' && form.test(value)) return
  throw new InvalidStream(`The ${name} of a subscription must be ${expected}`)
}
