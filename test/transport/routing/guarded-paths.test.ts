import fastify from 'fastify'
import t from 'tap'
import { createPathTest } from '../../../src/transport/routing/guarded-paths.ts'

t.test('a path fits every spelling that the routers take for it', async (t) => {
  const fits = createPathTest('/admin', fastify())
  for (const url of ['/admin', '//admin/', '/%61dmin?a=1', '/admin/x', 'http://a.test/admin'])
    t.equal(fits(url), true, url)
  for (const url of ['/', '/ADMIN', '/administrator', '/x/admin', '/admin;x', '/a%2Fdmin'])
    t.equal(fits(url), false, url)
})

t.test('a path with a percent sign fits the URL that reaches it and looks like it', async (t) => {
  const server = fastify()
  server.get('/a%20b', async () => 'reached')
  const fits = createPathTest('/a%20b', server)
  t.equal((await server.inject('/a%2520b')).statusCode, 200)
  for (const url of ['/a%2520b', '/a%20b', '/%61%2520b/1']) t.equal(fits(url), true, url)
  t.equal(fits('/a%252520b'), false)
})

t.test('upper and lower case, also encoded, are one where the server sees them so', async (t) => {
  for (const options of [{ caseSensitive: false }, { routerOptions: { caseSensitive: false } }]) {
    const server = fastify(options)
    server.get('/admin', async () => 'reached')
    const fits = createPathTest('/Admin', server)
    for (const url of ['/admin', '/ADMIN', '/%41dmin', '/%61DMIN/']) t.equal(fits(url), true, url)
    t.equal((await server.inject('/%41DMIN')).statusCode, 200)
  }
})

t.test('a semicolon ends the path where the server sees it so', async (t) => {
  const server = fastify({ useSemicolonDelimiter: true, routerOptions: { maxParamLength: 200 } })
  const fits = createPathTest('/admin', server)
  for (const url of ['/admin;x', '/admin;x=1?y']) t.equal(fits(url), true, url)
})
