import t from 'tap'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'

/** The lines about logins, each once. */
const linesOf = (log: readonly string[]) => log.filter((line) => /"message":"Login/.test(line))

t.test('what is refused is logged once, with its reason (LOG-1)', async (t) => {
  const app = await startAttackedApp(t)
  const refusals: Readonly<Record<string, () => Promise<unknown>>> = {
    'a page elsewhere': () => app.send('/oauth/example?redirect=//attacker.test'),
    'a link from elsewhere': () =>
      app.send('/oauth/example?feathers_token=x', { headers: { 'sec-fetch-site': 'cross-site' } }),
    'a parameter that is a list': () => app.send('/oauth/example?redirect[]=x'),
    'a callback of no flow': () => app.send('/oauth/example/callback?code=x&state=y'),
    'a refusal of the provider': async () => {
      const login = await app.begin()
      const callback = new URL(login.callback)
      callback.searchParams.delete('code')
      callback.searchParams.set('error', 'access_denied')
      return app.finish({ ...login, callback: callback.href })
    },
    'a link that has expired': () => app.send('/oauth/example?feathers_token=x'),
  }
  for (const [name, refuse] of Object.entries(refusals)) {
    const before = linesOf(app.log).length
    await refuse()
    const lines = linesOf(app.log).slice(before)
    t.equal(lines.length, 1, `${name}: ${lines.join('\n')}`)
    t.match(lines[0], /"reason":"[^"]/, name)
  }
})
