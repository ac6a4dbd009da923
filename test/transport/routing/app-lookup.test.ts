import t from 'tap'
import { openApp } from '../../support/own-server.ts'

const service = { find: async () => [], get: async (id: string) => ({ id }) }

t.test('lookup finds the service and the values that a request would have', async (t) => {
  const app = openApp(t)
  app.use('users', service)
  app.use('users/:userId/notes', service, { routeParams: { kind: 'short' } })
  const notes = app.service('users/:userId/notes')
  const rows = [
    ['/users', app.service('users'), {}],
    ['users/', app.service('users'), {}],
    ['/users/a%20b?x=1', app.service('users'), { __id: 'a b' }],
    ['users/1/notes', notes, { userId: '1', kind: 'short' }],
    ['/users/1/notes/7', notes, { userId: '1', kind: 'short', __id: '7' }],
  ] as const
  for (const [path, found, params] of rows) {
    const lookup = app.lookup(path)
    t.equal(lookup?.service, found, path)
    t.strictSame(lookup?.params, params, path)
  }
  for (const path of [
    '',
    '/',
    '/none',
    '/users/1/2',
    '/users//notes',
    '/constructor',
    '//users',
    '*users',
  ])
    t.equal(app.lookup(path), null, path)
  for (const path of [null, undefined, 5, {}, ['users']])
    t.equal(app.lookup(path as unknown as string), null, JSON.stringify(path))
})

t.test('lookup knows services that come and go', async (t) => {
  const app = openApp(t)
  t.equal(app.lookup('/late'), null)
  app.use('late', service)
  t.equal(app.lookup('/late')?.service, app.service('late'))
  await app.unuse('late')
  t.equal(app.lookup('/late'), null)
})
