import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { holdTimers } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import { BAD_ANSWERS, redirectsTo, WRONG_IDS } from '../../support/oauth/bad-answers.ts'
import type { GitHubPath } from '../../support/oauth/github-server.ts'
import { startGitHubServer } from '../../support/oauth/github-server.ts'
import type { Answered, LocalAnswer } from '../../support/oauth/local-server.ts'
import { startOAuthApp } from '../../support/oauth/oauth-app.ts'
import { until } from '../../support/until.ts'

const database = await openDatabase(t)

/** An application with a provider of plain OAuth 2. */
async function start(t: Test) {
  const github = await startGitHubServer()
  const { emails_url: email_url, ...urls } = github.urls
  const users = await database.empty('users')
  const section = { ...github.client, ...urls, email_url, allowPrivateNetwork: true }
  const app = await startOAuthApp({ users, oauth: { redirect: '/home', github: section } })
  t.teardown(async () => {
    await app.close()
    await github.close()
  })
  /** Resolves to the page after a login. */
  const logIn = async (): Promise<string> => {
    const started = await fetch(`${app.origin}/oauth/github`, { redirect: 'manual' })
    const cookie = started.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const page = started.headers.get('location') ?? ''
    const back = (await fetch(page, { redirect: 'manual' })).headers.get('location') ?? ''
    const finished = await fetch(back, { headers: { cookie }, redirect: 'manual' })
    return finished.headers.get('location') ?? String(finished.status)
  }
  return { app, github, users, logIn }
}

/** Answers that wait for somebody to give up. */
const SLOW: readonly string[] = ['no answer at all', 'a body that stops in the middle']

const PATHS: readonly GitHubPath[] = ['/login/oauth/access_token', '/user', '/user/emails']

/** A list of addresses may be of any kind, as the login does not rest on it. */
const HARMLESS: readonly string[] = [
  ...['null', 'a list', 'a string', 'an object with a prototype', 'status 401'],
]

for (const path of PATHS) {
  t.test(`no answer, a redirect or a too large one of ${path} is refused (OAU-4)`, async (t) => {
    const { github, users, logIn } = await start(t)
    const elsewhere = await startGitHubServer()
    t.teardown(() => elsewhere.close())
    for (const [name, answer] of Object.entries({
      ...BAD_ANSWERS,
      ...redirectsTo(elsewhere.origin),
    })) {
      if (SLOW.includes(name) || (path === '/user/emails' && HARMLESS.includes(name))) continue
      github.answerWith(path, answer)
      const location = await logIn()
      if (name === 'JSON that is called text' && path !== PATHS[0]) continue
      t.match(location, /^\/home#error=[\w%.-]+$/, name)
      t.notMatch(location, /secret|srv|stack/)
    }
    t.equal(await users.countDocuments({ githubId: { $nin: ['1', '583231'] } }), 0)
    t.strictSame(elsewhere.requests, [], 'no redirect is followed')
  })
}

t.test('a provider has five seconds, for each request (OAU-4)', async (t) => {
  const { github, users, logIn } = await start(t)
  const timers = holdTimers(t, 5000)
  for (const path of PATHS) {
    github.answerWith(path, () => undefined)
    const count = github.requests.length
    const location = logIn()
    await until(() => github.requests.slice(count).some((request) => request.path === path))
    timers.fire()
    t.match(await location, /^\/home#error=github%20cannot%20be%20reached/, path)
    github.answerWith(path, undefined)
  }
  t.equal(await users.countDocuments(), 0)
})

t.test('a provider that has too much to do can be asked later', async (t) => {
  const { app, github, logIn } = await start(t)
  for (const path of PATHS) {
    for (const status of [429, 500, 503]) {
      github.answerWith(path, { status, body: { error: 'temporarily_unavailable' } })
      t.match(await logIn(), /^\/home#error=github%20cannot%20be%20reached/, `${path} ${status}`)
      t.match(app.log.at(-1), `returned status ${status}`)
    }
    github.answerWith(path, undefined)
  }
})

t.test('what a provider repeats of its secrets is in no log (LOG-1)', async (t) => {
  const { app, github, logIn } = await start(t)
  const repeat = (status: number): Answered => {
    const answer = (response: ServerResponse): void => {
      const { body } = github.requests.at(-1) ?? { body: '' }
      const [code, verifier] = ['code', 'code_verifier'].map((name) => fieldOf(body, name))
      const said = `${github.client.secret} ${code} ${verifier} ${body}`
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: 'invalid_client', error_description: said }))
    }
    return answer
  }
  for (const status of [200, 400]) {
    github.answerWith('/login/oauth/access_token', repeat(status))
    t.match(await logIn(), /#error=github%20did%20not%20confirm/)
    const { body = '' } = github.requests.at(-1) ?? {}
    const line = app.log.at(-1) ?? ''
    t.match(line, 'invalid_client: [secret] [secret] [secret]')
    for (const name of ['code', 'code_verifier', 'client_secret']) {
      t.notMatch(line, fieldOf(body, name), name)
    }
  }
})

function fieldOf(form: string, name: string): string {
  return new URLSearchParams(form).get(name) ?? 'none'
}

t.test('tokens are taken as older servers give them', async (t) => {
  const { github, logIn, users } = await start(t)
  const token = { access_token: 'a token' }
  const answers: Readonly<Record<string, LocalAnswer>> = {
    'an id token': { body: { ...token, token_type: 'bearer', id_token: 'e30.e30.e30' } },
    'no type, no scope': { body: { ...token, scope: null } },
    'status 201': { status: 201, body: { ...token, token_type: 'bearer' } },
    'a form': {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(token).toString(),
    },
  }
  github.answerWith('/user', { body: { id: 7 } })
  github.answerWith('/user/emails', { body: [] })
  for (const [name, answer] of Object.entries(answers)) {
    github.answerWith('/login/oauth/access_token', answer)
    t.match(await logIn(), /^\/home#access_token=/, name)
  }
  t.equal(await users.countDocuments(), 1)
})

t.test('an id of a profile is a string or a whole number (OAU-5)', async (t) => {
  const { github, users, logIn } = await start(t)
  for (const [name, id] of Object.entries(WRONG_IDS)) {
    github.user = { login: 'eve', name: null, email: null, id }
    t.match(await logIn(), /^\/home#error=/, name)
  }
  t.equal(await users.countDocuments(), 0)
})

t.test('an id is stored as a string, and found as either (OAU-5)', async (t) => {
  const { github, users, logIn } = await start(t)
  await users.insertOne({ githubId: 42, name: 'stored by Feathers' } as object)
  for (const id of [7, '7', 7, 42]) {
    github.user = { login: 'ann', name: null, email: null, id }
    t.match(await logIn(), /^\/home#access_token=/)
  }
  const stored = await users.find().toArray()
  t.match(stored.map(({ githubId }) => githubId).sort(), ['42', '7'])
})

t.test('no field of a profile but the id decides whose it is (OAU-5)', async (t) => {
  const { github, users, logIn } = await start(t)
  await users.insertMany([{ githubId: 'victim' }, { githubId: '1' }])
  const user = { login: 'victim', name: null, email: null, id: 666 }
  github.user = { ...user, githubId: 'victim', _id: '1', $or: [{}] } as typeof user
  t.match(await logIn(), /#access_token=/)
  t.equal(await users.countDocuments(), 3)
  t.equal(await users.countDocuments({ githubId: '666' }), 1)
})

t.test('an OpenID provider has five seconds, for each request (OAU-4)', async (t) => {
  const timers = holdTimers(t, 5000)
  const app = await startAttackedApp(t)
  for (const path of ['/token', '/jwks', '/userinfo']) {
    app.provider.lie = { answers: { [path]: () => undefined } }
    const login = await app.begin()
    const finished = app.finish(login)
    const asked = () => app.provider.requests.some((request) => request.path === path)
    await until(asked)
    timers.fire()
    t.match((await finished).headers.get('location'), /#error=example%20cannot%20be%20reached/)
  }
  t.strictSame(app.calls, [])
})
