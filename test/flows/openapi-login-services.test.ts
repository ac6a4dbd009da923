import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance } from 'fastify'
import { openapi } from 'remex'
import t from 'tap'
import { createAccounts as createMembers } from '../../examples/accounts.ts'
import { createNotes } from '../../examples/api-keys.ts'
import { createAccounts } from '../../examples/sessions.ts'
import type { OpenApiDocument } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import { createCheck } from '../support/document-check.ts'

const { db } = await openDatabase(t)
const SECRET = 'a secret of more than thirty-two bytes'
const PASSWORD = 'correct horse battery'
const BEARER = { security: [{ bearer: [] }], responses: { 401: Object } }
const INFO = { title: 'Logins', version: '1.0.0' }

interface Started {
  configure(configurator: ReturnType<typeof openapi>): unknown
  readonly fastify: FastifyInstance
}

/** Resolves to the document of an example, and what sends requests and checks their answers by it. */
async function start(create: () => Started, hasDocument = false) {
  await db.dropDatabase()
  const app = create()
  t.teardown(() => app.fastify.close())
  if (!hasDocument) app.configure(openapi({ info: INFO }))
  await app.fastify.ready()
  const document = (await app.fastify.inject('/docs/json')).json<OpenApiDocument>()
  t.match(await new Validator().validate(document), { valid: true })
  const check = createCheck(t, document)
  let token: string | null = null
  const send = async (status: number, verb: string, place: string, id = '', payload?: object) => {
    const answer = await app.fastify.inject({
      method: verb.toUpperCase() as 'GET',
      url: place.replace('{id}', id),
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      ...(payload && { payload }),
    })
    t.equal(answer.statusCode, status, `${verb} ${place}: ${answer.body}`)
    const body = answer.json()
    check(place, verb, { status, body, headers: answer.headers as Record<string, string> })
    return body
  }
  const logIn = async (): Promise<void> => {
    const login = { email: 'ada@example.org', password: PASSWORD }
    await send(201, 'post', '/users', '', login)
    const body = await send(201, 'post', '/authentication', '', { strategy: 'local', ...login })
    token = body.accessToken
  }
  return { document, send, logIn }
}

function listVerbs({ paths }: OpenApiDocument, path: string): string[] {
  return [path, `${path}/{id}`].flatMap((place) =>
    Object.keys(paths[place] ?? {}).map((verb) => `${verb} ${place}`),
  )
}

t.test('API keys are as the document says', async (t) => {
  const { document, send, logIn } = await start(() => createNotes(db, SECRET))
  const [all, one] = ['/api-keys', '/api-keys/{id}']
  const verbs = [`get ${all}`, `post ${all}`, `get ${one}`, `delete ${one}`]
  t.strictSame(listVerbs(document, all), verbs)
  for (const place of [all, one]) {
    for (const operation of Object.values(document.paths[place] ?? {})) t.match(operation, BEARER)
  }
  t.match(document.components['schemas'], {
    ApiKeysCreateData: { required: ['name'], additionalProperties: false },
  })
  await logIn()
  const data = { name: 'backup', scopes: ['notes:read'], expiresAt: '2090-01-31T12:00:00Z' }
  const { _id, key } = await send(201, 'post', all, '', data)
  t.type(key, 'string')
  await send(201, 'post', all, '', { name: 'second' })
  await send(400, 'post', all, '', { name: 'third', color: 'red' })
  t.equal((await send(200, 'get', all)).total, 2)
  await send(200, 'get', one, _id)
  await send(200, 'delete', one, _id)
  await send(404, 'get', one, _id)
})

t.test('sessions are as the document says', async (t) => {
  const { document, send, logIn } = await start(() => createAccounts(db, SECRET))
  const [all, one] = ['/sessions', '/sessions/{id}']
  t.strictSame(listVerbs(document, all), [`get ${all}`, `get ${one}`, `delete ${one}`])
  t.match(document.paths[all], { get: BEARER })
  t.match(document.paths[one], { get: BEARER, delete: BEARER })
  await logIn()
  const { data } = await send(200, 'get', all)
  t.match(data, [{ current: true }])
  await send(200, 'get', one, data[0]._id)
  await send(200, 'delete', one, data[0]._id)
  await send(401, 'post', '/authentication', '', { strategy: 'refresh', refreshToken: 'x' })
})

t.test('the accounts of the example say whom they let pass', async (t) => {
  const { document } = await start(() => createMembers(db, SECRET, () => undefined), true)
  const { paths } = document
  t.strictSame(listVerbs(document, '/sessions'), [
    'get /sessions',
    'get /sessions/{id}',
    'delete /sessions/{id}',
  ])
  for (const name of ['changePassword', 'changeEmail']) {
    t.match(paths[`/accounts/${name}`], { post: BEARER }, name)
  }
  for (const name of ['requestVerification', 'verifyEmail', 'requestReset', 'resetPassword']) {
    t.notHas(paths[`/accounts/${name}`]?.['post'], { security: [] }, name)
  }
  t.match(paths['/me'], { get: { security: [{ bearer: [] }] } })
})
