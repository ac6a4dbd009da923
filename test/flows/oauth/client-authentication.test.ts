import { exportJWK, generateKeyPair } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import t from 'tap'
import type { ProviderSection } from '../../../src/auth/index.ts'
import { openDatabase } from '../../support/database.ts'
import { logIn, outcomeOf, startJourney, tokenOf, userOf } from './journey.ts'

const database = await openDatabase(t)

const SECRET = 'a secret of at least thirty-two characters'

const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
const named = { kid: 'key of the application', alg: 'ES256' }
const privateJwk = { ...(await exportJWK(privateKey)), ...named }
const publicJwk = { ...(await exportJWK(publicKey)), ...named }

interface Way {
  /** What the provider knows of the application. */
  readonly client: Omit<ClientMetadata, 'client_id'>
  /** What the settings say. */
  readonly section: ProviderSection
}

/** The usual section of the provider has a secret. */
const NO_SECRET = { secret: undefined } as object

/** How an application proves to a provider who it is. */
const WAYS: Readonly<Record<string, Way>> = {
  client_secret_post: { client: { client_secret: SECRET }, section: { secret: SECRET } },
  client_secret_basic: {
    client: { client_secret: SECRET },
    section: { secret: SECRET, token_endpoint_auth_method: 'client_secret_basic' },
  },
  client_secret_jwt: {
    client: { client_secret: SECRET },
    section: { secret: SECRET, token_endpoint_auth_method: 'client_secret_jwt' },
  },
  private_key_jwt: {
    client: { jwks: { keys: [publicJwk as never] } },
    section: {
      ...NO_SECRET,
      private_key: privateJwk,
      token_endpoint_auth_signing_alg: 'ES256',
    },
  },
  none: { client: {}, section: { ...NO_SECRET, token_endpoint_auth_method: 'none' } },
}

for (const [method, { client, section }] of Object.entries(WAYS)) {
  t.test(`logs in by ${method}`, async (t) => {
    const { app, provider, browser, start } = await startJourney(t, database, {
      section: { key: method, ...section },
    })
    provider.addClient({
      client_id: method,
      redirect_uris: [`${start}/callback`],
      token_endpoint_auth_method: method as never,
      ...client,
    })
    const page = await logIn(browser, start, 'ann')
    t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' })
  })
}

t.test('a wrong secret is a refusal whose reason only the log tells', async (t) => {
  const section = { secret: 'another secret of thirty-two characters' }
  const { app, browser, start } = await startJourney(t, database, { section })
  const page = await logIn(browser, start, 'ann')
  t.same(outcomeOf(page), { error: 'example did not confirm the login' })
  t.match(app.log.join(), /invalid_client/)
  t.notMatch(app.log.join(), /another secret/)
})
