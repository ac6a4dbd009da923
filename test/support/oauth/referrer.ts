import { isTrustworthy } from './site.ts'

type Policy = (page: URL, target: URL) => string | undefined

const whole: Policy = (page) => {
  const url = new URL(page)
  Object.assign(url, { hash: '', username: '', password: '' })
  return url.href
}
const origin: Policy = (page) => `${page.origin}/`
const nothing: Policy = () => undefined

const isSameOrigin = (page: URL, target: URL): boolean => page.origin === target.origin
const isDowngrade = (page: URL, target: URL): boolean =>
  isTrustworthy(page) && !isTrustworthy(target)

/** What each policy of the Referrer Policy standard sends from a page to a target. */
const POLICIES: Readonly<Record<string, Policy>> = {
  'no-referrer': nothing,
  origin,
  'unsafe-url': whole,
  'same-origin': (page, target) => (isSameOrigin(page, target) ? whole(page, target) : undefined),
  'strict-origin': (page, target) => (isDowngrade(page, target) ? undefined : origin(page, target)),
  'no-referrer-when-downgrade': (page, target) =>
    isDowngrade(page, target) ? undefined : whole(page, target),
  'origin-when-cross-origin': (page, target) =>
    (isSameOrigin(page, target) ? whole : origin)(page, target),
  'strict-origin-when-cross-origin': (page, target) => {
    if (isSameOrigin(page, target)) return whole(page, target)
    return isDowngrade(page, target) ? undefined : origin(page, target)
  },
}

/** The policy of a page that names none. */
export const DEFAULT_POLICY = 'strict-origin-when-cross-origin'

/** Returns the policy that a response names last, and the one so far where it names none. */
export function readPolicy(headers: Headers, policy: string): string {
  const named = (headers.get('referrer-policy') ?? '').toLowerCase().split(/[\s,]+/)
  return named.findLast((name) => Object.hasOwn(POLICIES, name)) ?? policy
}

/** Returns the `referer` header of a request that a page starts, `undefined` for none. */
export function toReferer(page: URL, target: URL, policy: string): string | undefined {
  return POLICIES[policy]?.(page, target)
}
