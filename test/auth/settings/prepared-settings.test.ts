import t from 'tap'
import type { AuthenticationConfiguration } from '../../../src/auth/index.ts'
import {
  AuthenticationBaseStrategy,
  MemoryRevocationList,
  MemoryThrottleStore,
} from '../../../src/auth/index.ts'
import type { LoginApp } from '../login-app.ts'
import { CREDENTIALS, external, forge, startLoginApp } from '../login-app.ts'

/** A key that nothing outside can see or compare. */
class Vault {
  readonly #key: string

  constructor(key: string) {
    this.#key = key
  }

  has(key: unknown): boolean {
    return key === this.#key
  }
}

/** Lets in whoever has the key of the vault in its settings. */
class VaultStrategy extends AuthenticationBaseStrategy {
  override async authenticate(request: { key?: unknown }) {
    const { vault } = this.configuration as { vault: Vault }
    return { isOpen: vault.has(request.key) }
  }
}

function replace({ app, authentication }: LoginApp, settings: object): AuthenticationConfiguration {
  app.set('authentication', { ...authentication.configuration, ...settings })
  return authentication.configuration
}

t.test('uses a new object of a class, even if nobody can see how it differs', async (t) => {
  const [first, second] = [new MemoryRevocationList(), new MemoryRevocationList()]
  const started = await startLoginApp({
    settings: {
      revocation: first,
      loginThrottle: { store: new MemoryThrottleStore() },
    },
  })
  const { authentication } = started
  const { loginThrottle } = authentication
  authentication.register('key', new VaultStrategy())
  const ask = (key: string) => authentication.authenticate({ strategy: 'key', key }, {}, 'key')
  replace(started, { key: { vault: new Vault('old') } })
  t.match(await ask('old'), { isOpen: true })
  replace(started, { key: { vault: new Vault('new') } })
  t.match([await ask('old'), await ask('new')], [{ isOpen: false }, { isOpen: true }])
  t.equal(authentication.loginThrottle, loginThrottle, 'what is the same stays')

  replace(started, { revocation: second })
  const request = { strategy: 'jwt', accessToken: await forge() }
  await authentication.remove(null, external({ authentication: request }))
  t.strictSame([first.size, second.size], [0, 1])
  replace(started, { loginThrottle: { store: new MemoryThrottleStore() } })
  t.not(authentication.loginThrottle, loginThrottle)
})

t.test('a new setting that is wrong is logged once, and changes nothing', async (t) => {
  const started = await startLoginApp()
  const { app, authentication, log } = started
  const { configuration, loginThrottle } = authentication
  const request = { strategy: 'jwt', accessToken: await forge() }
  const cases: [settings: object, message: RegExp][] = [
    [{ secret: 'short' }, /'authentication\.secret' has 5 bytes/],
    [{ secret: [] }, /'authentication': the option 'secret' must be/],
    [{ secret: undefined }, /A 'secret' must be provided/],
    [{ jwtOptions: { expiresIn: 'never' } }, /expiresIn/],
    [{ loginThrottle: { maxAttempts: -1 } }, /'loginThrottle\.maxAttempts' must be a whole/],
    [{ secrett: 'x' }, /unknown option 'secrett'/],
    [{ jwt: { headr: 'x' } }, /'authentication\.jwt': unknown option 'headr'/],
    [{ local: {} }, /requires a 'usernameField' setting/],
    [{ service: 'people' }, /The 'people' service/],
  ]
  for (const [settings, message] of cases) {
    log.length = 0
    app.set('authentication', { ...configuration, ...settings })
    await t.resolves(authentication.create(request, external()), String(message))
    await t.resolves(authentication.create(CREDENTIALS, external()))
    t.equal(authentication.configuration, configuration)
    t.equal(authentication.loginThrottle, loginThrottle)
    const errors = log.filter(({ level }) => level === 'error')
    t.match(errors, [{ details: { err: { message }, setting: 'authentication' } }])
    t.equal(errors.length, 1)
  }
  t.strictSame(replace(started, { authStrategies: ['jwt'] }).authStrategies, ['jwt'])
})
