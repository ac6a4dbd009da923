import type { Test } from 'tap'
import t from 'tap'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import type { AttackedApp, AttackedAppOptions } from '../../support/oauth/attacked-app.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'

/** Fields of the profile that nobody asks for, and that the application does not store. */
const PROFILE = {
  ...{ sub: 'ann', email: 'ann@example.com', email_verified: true },
  ...{ phone_number: 'phone-of-ann', birthdate: 'birthday-of-ann' },
}

/** An application whose logs are kept, those of Fastify too, and the tokens that the provider gives. */
async function start(t: Test, options: AttackedAppOptions = {}) {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const app = await startAttackedApp(t, {
    ...options,
    server: { logger: { level: 'trace', stream } },
  })
  // The logger of a server with a log is that of Fastify, which leaves secrets out.
  const core = app.authentication.app as FastifyApplication
  core.logger = core.fastify.log
  const tokens: string[] = []
  app.provider.account = PROFILE
  app.provider.lie = {
    token: (honest) => {
      const answer = { ...honest, refresh_token: `refresh-${tokens.length}-of-the-provider` }
      const { access_token, refresh_token, id_token } = answer as Record<string, unknown>
      tokens.push(String(access_token), refresh_token as string, String(id_token))
      return answer
    },
  }
  return { app, tokens, lines }
}

/** Parameters of a location, in its query and its fragment. */
function fieldsOf({ headers }: Response): URLSearchParams {
  const { hash } = new URL(headers.get('location') ?? '/', 'http://local')
  return new URLSearchParams(hash.slice(1))
}

function exchange(app: AttackedApp, data: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ strategy: 'example', ...data })
  return app.send('/authentication', { method: 'POST', headers, body })
}

t.test('no code, token, verifier, cookie or secret is in any log (LOG-1, OAU-6)', async (t) => {
  const { app, tokens, lines } = await start(t, { section: { response: 'code' } })
  const login = await app.begin('/oauth/example?redirect=/notes')
  const code = fieldsOf(await app.finish(login)).get('code') ?? ''
  const { accessToken } = (await (await exchange(app, { code })).json()) as { accessToken: string }
  // What fails is logged as well, with its reason.
  await app.finish(login)
  await exchange(app, { code })
  await exchange(app, { id_token: `${tokens[2]}x` })
  await app.send(`/oauth/example?feathers_token=${accessToken}x`)
  await app.send('/oauth/other/callback?code=code-of-nobody&state=x&access_token=token-of-nobody')
  const refused = await app.begin()
  const secretText = `Bearer ${tokens[0]} access_token=${tokens[1]}`
  const { provider } = app
  provider.lie = {
    answers: {
      '/token': { status: 400, body: { error: 'invalid_grant', error_description: secretText } },
    },
  }
  await app.finish(refused)

  t.ok(lines.length > 10, `${lines.length} lines`)
  t.ok(lines.some((line) => line.includes('Login rejected')))
  const body = provider.requests.find(({ path }) => path === '/token')?.body
  const sent = new URLSearchParams(body)
  const secrets: Record<string, string | null | undefined> = {
    'the code of the provider': sent.get('code'),
    'the verifier': sent.get('code_verifier'),
    'the secret of the client': provider.client.secret,
    'the cookie': login.cookie.split('=')[1],
    'the access token of the provider': tokens[0],
    'the refresh token of the provider': tokens[1],
    'the id token': tokens[2],
    'the login code': code,
    'the access token': accessToken,
    'a code of nobody': 'code-of-nobody',
    'a token of nobody': 'token-of-nobody',
    'a field of the profile': 'phone-of-ann',
  }
  for (const [name, secret] of Object.entries(secrets)) {
    t.ok(secret !== null && secret !== undefined && secret.length > 8, name)
    t.strictSame(
      lines.filter((line) => line.includes(String(secret))),
      [],
      name,
    )
  }
})

t.test('a token is in no query, and in no answer but the last (OAU-6)', async (t) => {
  const { app, tokens } = await start(t, { oauth: { redirect: 'https://app.test/home' } })
  const login = await app.begin()
  const response = await app.finish(login)
  const location = new URL(response.headers.get('location') ?? 'none:')
  t.equal(location.search, '')
  t.match(location.hash, /^#access_token=[\w-]+\.[\w-]+\.[\w-]+$/)
  t.notMatch(await response.text(), tokens[0])
  for (const { query } of app.provider.requests) t.notOk(query.has('client_secret'))
})

t.test('with codes there is no token in any URL (OAU-6)', async (t) => {
  const { app, tokens } = await start(t, { section: { response: 'code' } })
  const response = await app.finish(await app.begin())
  const location = response.headers.get('location') ?? ''
  t.match(location, /#code=[\w.-]+&strategy=example$/)
  t.notMatch(location, 'access_token')
  const text = location + (await response.text())
  for (const token of tokens) t.notOk(text.includes(token))
  t.match(await (await exchange(app, { code: fieldsOf(response).get('code') })).json(), {
    accessToken: /^ey/,
    user: { exampleId: 'ann' },
  })
})

t.test('no profile or tokens of the provider are in results or events (MASS-3)', async (t) => {
  const { app, tokens } = await start(t, { oauth: {} })
  const seen: unknown[] = []
  const { app: core } = app.authentication
  core.on('login', (result: unknown) => seen.push(result))
  for (const path of ['authentication', 'users', 'oauth/:provider', 'oauth/:provider/callback']) {
    for (const event of ['created', 'patched']) {
      core.service(path).on(event, (record: unknown) => seen.push(record))
    }
  }
  const answers: unknown[] = []
  for (const _time of ['first', 'second']) {
    answers.push(await (await app.finish(await app.begin())).json())
  }
  const id_token = await app.provider.createIdToken()
  answers.push(await (await exchange(app, { id_token })).json())
  t.match(answers, [{ user: { exampleId: 'ann' } }, {}, { user: { exampleId: 'ann' } }])
  t.ok(seen.length >= 4, `${seen.length} events`)
  const text = JSON.stringify([answers, seen])
  for (const secret of [...tokens, id_token, 'phone-of-ann', 'birthday-of-ann', 'refresh_token']) {
    t.notOk(text.includes(secret), secret)
  }
  t.notMatch(answers, [{ profile: {} }])
  const { user } = answers[0] as { user: object }
  t.strictSame(Object.keys(user).sort(), ['_id', 'exampleId'])
})
