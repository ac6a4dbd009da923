import type { TestScope } from '../../support/http.ts'

/** Shows a page, as a browser does, until the end of the test. Returns what its address bar has shown. */
export function showPage(t: Pick<TestScope, 'teardown'>, href: string) {
  const hashAt = href.indexOf('#')
  const location = { href, hash: hashAt === -1 ? '' : href.slice(hashAt) }
  const entries: [state: unknown, url: string][] = []
  const history = {
    state: { of: 'router' },
    replaceState(state: unknown, _title: string, url: string) {
      entries.push([state, url])
      location.href = url
      location.hash = url.includes('#') ? url.slice(url.indexOf('#')) : ''
    },
  }
  showParts(t, { location, history })
  return { location, entries }
}

/** Shows a page that lacks what is not given, until the end of the test. */
export function showParts(
  t: Pick<TestScope, 'teardown'>,
  page: { readonly location?: unknown; readonly history?: unknown },
): void {
  Object.assign(globalThis, page)
  t.teardown(() => {
    for (const name of Object.keys(page)) Reflect.deleteProperty(globalThis, name)
  })
}
