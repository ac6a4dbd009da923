import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { jwt } from 'hono/jwt'

/** Starts Hono on Node. */
export async function start(bench) {
  const records = await listen(
    createRecordApp(bench, (context) => context.req.query()),
    bench,
  )
  const brackets = await listen(
    createRecordApp(bench, ({ req: { url } }) =>
      bench.parseBrackets(url.slice(url.indexOf('?') + 1)),
    ),
    bench,
  )
  const bearer = await listen(await createProtectedApp(bench), bench)
  return { records, brackets, bearer, uncached: bearer }
}

function createRecordApp({ getRecord, findRecords, createRecord, toError, toMissing }, readQuery) {
  const app = new Hono()
  app.get('/records', (context) => context.json(findRecords(readQuery(context))))
  app.get('/records/:id', (context) => {
    const id = context.req.param('id')
    const record = getRecord(id)
    if (record === undefined) throw new HTTPException(404, { message: toMissing(id) })
    return context.json(record)
  })
  app.post('/records', async (context) => context.json(createRecord(await context.req.json()), 201))
  app.onError((error, context) => context.json(toError(error.status, error.message), error.status))
  app.notFound((context) => context.json(toError(404, 'Page not found'), 404))
  return app
}

async function createProtectedApp({ getRecord, getOwnRecord, auth, toError }) {
  const app = new Hono()
  const { secret, type, audience, issuer } = auth
  const options = { name: 'HMAC', hash: 'SHA-256' }
  // A string would be made into such a key for every token anew.
  const key = await crypto.subtle.importKey('raw', Buffer.from(secret), options, false, ['verify'])
  const verification = { typ: type, aud: audience, iss: issuer }
  app.use('/records/*', jwt({ secret: key, alg: 'HS256', verification }))
  app.use('/records/*', async (context, next) => {
    const user = getRecord(context.get('jwtPayload').sub)
    if (user === undefined) throw new HTTPException(401, { message: 'The user is gone' })
    context.set('user', user)
    await next()
  })
  app.get('/records/:id', (context) =>
    context.json(getOwnRecord(context.get('user'), context.req.param('id'))),
  )
  app.onError((error, context) => context.json(toError(error.status, error.message), error.status))
  return app
}

function listen({ fetch }, { keepAliveMs }) {
  return new Promise((resolve) => {
    const server = serve({ fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port))
    server.keepAliveTimeout = keepAliveMs
  })
}
