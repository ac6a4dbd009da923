import { Webhook } from 'standardwebhooks'
import t from 'tap'
import type { Setup } from '../../examples/help-desk.ts'
import { createHelpDesk } from '../../examples/help-desk.ts'
import { startProvider } from '../auth/oauth/provider/fake-provider.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope } from '../support/http.ts'
import { until } from '../support/until.ts'

const SECRET = 'a secret of more than thirty-two bytes'
const PASSWORD = 'correct horse battery'
const { db } = await openDatabase(t)

type Email = readonly [to: string, text: string]

/** Starts the help desk on a port; jobs run when a test runs them. */
async function start(t: TestScope, given: Partial<Setup> = {}) {
  await db.dropDatabase()
  const emails: Email[] = []
  const app = createHelpDesk({
    ...{ db, secret: SECRET, isDevelopment: true, startJobs: false, scryptCost: 1_024 },
    sendEmail: async (to, text) => void emails.push([to, text]),
    ...given,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const origin = app.fastify.listeningOrigin
  const request = async (method: string, path: string, token = '', data?: unknown, name = '') => {
    const headers = {
      ...(name !== '' && { 'x-service-method': name }),
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      'content-type': typeof data === 'string' ? 'text/plain' : 'application/json',
    }
    const body = data === undefined ? null : typeof data === 'string' ? data : JSON.stringify(data)
    const response = await fetch(origin + path, {
      ...{ method, body },
      headers: body === null ? { ...headers, 'content-type': '' } : headers,
    })
    const text = await response.text()
    const isJSON = response.headers.get('content-type')?.startsWith('application/json')
    // biome-ignore lint/suspicious/noExplicitAny: bodies of many services
    return { status: response.status, text, body: (isJSON ? JSON.parse(text) : undefined) as any }
  }
  const logIn = async (name: string, extra: object = {}): Promise<string> => {
    const data = { email: `${name}@example.org`, password: PASSWORD }
    await app.service('users').create({ ...data, ...extra } as never)
    const login = await request('POST', '/authentication', '', { strategy: 'local', ...data })
    return login.body.accessToken as string
  }
  return { app, emails, request, logIn }
}

t.test('files of a ticket are for its user and for agents', async (t) => {
  const { request, logIn } = await start(t)
  const [ann, bob] = [await logIn('ann'), await logIn('bob')]
  const agent = await logIn('agent', { isAgent: true })
  const ticket = (await request('POST', '/tickets', ann, { subject: 'It burns' })).body
  const path = `/attachments?name=note.txt&ticketId=${ticket._id}`
  t.match(await request('POST', path, '', 'a note'), { status: 401 })
  t.match(await request('POST', path, bob, 'a note'), { status: 404 })
  const sent = await request('POST', path, ann, 'a note')
  t.match(sent, { status: 201, body: { name: 'note.txt', createdBy: ticket.createdBy } })
  const answer = await request('POST', path, agent, 'an answer')
  t.match(answer, { status: 201, body: { createdBy: ticket.createdBy } })
  for (const [token, status] of [
    [ann, 200],
    [agent, 200],
    [bob, 404],
    ['', 401],
  ] as const) {
    const content = await request('GET', `/attachments/${answer.body._id}/content`, token)
    t.equal(content.status, status)
    t.equal(content.text === 'an answer', status === 200)
  }
  t.match(await request('GET', '/attachments', bob), { body: { total: 0 } })
  const moved = { ticketId: 'of someone else' }
  t.match(await request('PATCH', `/attachments/${sent.body._id}`, ann, moved), { status: 405 })
})

t.test('a ticket that is solved sends one email and one webhook', async (t) => {
  const received: unknown[] = []
  let secret = ''
  const provider = await startProvider(t, (request, reply) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      received.push(new Webhook(secret).verify(body, request.headers as never))
      reply.end()
    })
  })
  const { app, emails, request, logIn } = await start(t)
  const [ann, bob] = [await logIn('ann'), await logIn('bob')]
  const agent = await logIn('agent', { isAgent: true })
  const endpoint = { url: `${provider.origin}/`, events: ['tickets.patched'] }
  secret = (await request('POST', '/webhooks', ann, endpoint)).body.secret
  t.match(await request('POST', '/webhooks', bob, endpoint), { status: 201 })
  const ticket = (await request('POST', '/tickets', ann, { subject: 'It burns' })).body
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  const solved = await request('PATCH', `/tickets/${ticket._id}`, agent, { status: 'solved' })
  t.match(solved, { status: 200, body: { status: 'solved' } })
  t.strictSame(await app.jobs.run(), { done: 2, failed: 0 })
  t.strictSame(emails, [['ann@example.org', 'Your ticket "It burns" is solved']])
  t.match(received, [{ type: 'tickets.patched', data: { _id: ticket._id, status: 'solved' } }])
  t.equal(received.length, 1)
})

t.test('a write that fails sends nothing', async (t) => {
  const { app, emails, request, logIn } = await start(t)
  const ann = await logIn('ann')
  app.service('tickets').hooks({
    after: {
      patch: [
        () => {
          throw new Error('too late')
        },
      ],
    },
  })
  const ticket = (await request('POST', '/tickets', ann, { subject: 'It burns' })).body
  const solved = await request('PATCH', `/tickets/${ticket._id}`, ann, { status: 'solved' })
  t.equal(solved.status, 500)
  t.match(await request('GET', `/tickets/${ticket._id}`, ann), { body: { status: 'open' } })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  t.strictSame(emails, [])
})

t.test('an email of an account is sent again after a failure', async (t) => {
  const emails: Email[] = []
  let failures = 1
  const { app, request, logIn } = await start(t, {
    sendEmail: async (to, text) => {
      failures -= 1
      if (failures >= 0) throw new Error('The server of emails is away')
      emails.push([to, text])
    },
  })
  await logIn('ann')
  app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined }
  await request('POST', '/accounts', '', { email: 'ann@example.org' }, 'requestReset')
  await until(async () => (await app.jobs.find()).data.some(({ name }) => name === 'account-email'))
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  const [job] = (await app.jobs.find({ query: { name: 'account-email' } })).data
  t.strictSame(await app.jobs.run({ at: job?.runAt as Date }), { done: 1, failed: 0 })
  t.match(emails, [['ann@example.org', /^reset: [\w.-]{30,}$/]])
})

t.test('the uploads that killed processes leave are removed each day', async (t) => {
  const { app } = await start(t)
  const jobs = (await app.jobs.find()).data
  t.match(jobs, [{ name: 'sweep-files' }])
  t.strictSame(await app.jobs.run({ at: jobs[0]?.runAt as Date }), { done: 1, failed: 0 })
})
