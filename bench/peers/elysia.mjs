import { jwt } from '@elysiajs/jwt'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'

/** Starts Elysia on Node. */
export async function start(bench) {
  const records = await listen(
    createRecordApp(bench).get('/records', ({ query }) => bench.findRecords(query)),
    bench,
  )
  const brackets = await listen(
    createRecordApp(bench).get('/records', ({ request: { url } }) =>
      bench.findRecords(bench.parseBrackets(url.slice(url.indexOf('?') + 1))),
    ),
    bench,
  )
  const bearer = await listen(await createProtectedApp(bench), bench)
  return { records, brackets, bearer, uncached: bearer }
}

function createRecordApp({ getRecord, createRecord, toError, toMissing }) {
  return new Elysia({ adapter: node() })
    .onError(({ code, status }) => {
      if (code === 'NOT_FOUND') return status(404, toError(404, 'Page not found'))
    })
    .get('/records/:id', ({ params: { id }, status }) => {
      const record = getRecord(id)
      if (record === undefined) throw status(404, toError(404, toMissing(id)))
      return record
    })
    .post('/records', ({ body, status }) => status(201, createRecord(body)), { parse: 'json' })
}

async function createProtectedApp({ getRecord, getOwnRecord, auth, toError }) {
  const { secret, type, audience, issuer } = auth
  const options = { name: 'HMAC', hash: 'SHA-256' }
  // A string would be made into such a key for every token anew.
  const key = await crypto.subtle.importKey('raw', Buffer.from(secret), options, false, ['verify'])
  const expected = { algorithms: ['HS256'], typ: type, audience, issuer }
  return new Elysia({ adapter: node() })
    .use(jwt({ name: 'jwt', secret: key }))
    .resolve(async ({ jwt, headers: { authorization }, status }) => {
      const token = authorization?.startsWith('Bearer ') ? authorization.slice(7) : undefined
      const payload = await jwt.verify(token, expected)
      const user = payload === false ? undefined : getRecord(payload.sub)
      if (user === undefined) return status(401, toError(401, 'Unauthorized'))
      return { user }
    })
    .get('/records/:id', ({ user, params: { id } }) => getOwnRecord(user, id))
}

async function listen(app, { keepAliveMs }) {
  // The server below the adapter: it alone knows the port that it was given.
  const { raw } = await new Promise((resolve) => {
    app.listen({ port: 0, hostname: '127.0.0.1' }, resolve)
  })
  await raw.ready()
  const { server } = raw.node
  server.keepAliveTimeout = keepAliveMs
  return server.address().port
}
