import t from 'tap'
import { Application, createApp, Emitter, NotFound } from '../../src/core/index.ts'
import { createLogger } from './recording-logger.ts'

const todos = {
  async get(id: string | number) {
    return { id }
  },
}

t.test('createApp() returns an application of its own each time', async (t) => {
  const first = createApp()
  const second = createApp()
  first.use('todos', todos).set('port', 3030)

  t.type(first, Application)
  t.type(first, Emitter)
  t.throws(() => second.service('todos'), NotFound)
  t.equal(second.get('port'), undefined)
})

t.test('set() keeps a setting and returns the application', async (t) => {
  const app = createApp()
  t.equal(app.set('port', 3030), app)
  t.equal(app.get('port'), 3030)
  t.equal(app.get('host'), undefined)
})

t.test('a setting may have any name and reaches no prototype', async (t) => {
  const app = createApp()
  t.equal(app.get('__proto__'), undefined)
  t.equal(app.get('constructor'), undefined)
  const polluting: unknown = JSON.parse('{"polluted":1}')

  app.set('__proto__', polluting).set('constructor', { prototype: polluting })

  t.equal(app.get('__proto__'), polluting)
  t.equal(app.get('polluted'), undefined)
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
})

t.test('configure() runs a function with the application and does not wait for it', async (t) => {
  const app = createApp()
  const seen: unknown[] = []
  const returned = app.configure(function (given) {
    seen.push(given, this)
    return new Promise(() => seen)
  })

  t.equal(returned, app)
  t.ok(seen.every((value) => value === app))
  t.equal(seen.length, 2)
})

t.test('stores a path without the slashes at its ends', async (t) => {
  const app = createApp()
  const paths = ['/todos/', '///notes///', 'users/:userId/messages', 'a//b', '/']
  for (const path of paths) app.use(path, todos)

  t.same([...app.entries.keys()], ['todos', 'notes', 'users/:userId/messages', 'a//b', '/'])
  t.equal(app.service('todos'), app.service('//todos/'))
  t.equal(app.service(''), app.service('/'))
  t.equal(app.service('users/:userId/messages'), app.services['users/:userId/messages'])
})

t.test('refuses a path that is no string', async (t) => {
  const app = createApp()
  for (const path of [null, undefined, 42, {}, ['todos']] as unknown as string[]) {
    const expected = {
      name: 'TypeError',
      message: `'${String(path)}' is not a valid service path.`,
    }
    t.throws(() => app.use(path, todos), expected)
    t.throws(() => app.service(path), expected)
  }
})

t.test('finds no service by an inherited name, an unknown path or a placeholder', async (t) => {
  const app = createApp().use('users/:id', todos)
  const paths = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a/../b', '', 'users/1']
  for (const path of paths) {
    const shown = path === '' ? '/' : path
    t.throws(() => app.service(path), { code: 404, message: `Can not find service '${shown}'` })
  }
  t.same(Object.keys(app.services), ['users/:id'])
  t.equal(Object.getPrototypeOf(app.services), null)
})

t.test('registers what defaultService() makes for an unknown path', async (t) => {
  const app = createApp()
  const asked: string[] = []
  app.defaultService = (path) => {
    asked.push(path)
    return { ...todos }
  }

  const service = app.service('/later/')
  t.equal(app.service('later'), service)
  t.same(asked, ['later'])
  t.same(await service.get(7), { id: 7 })
})

t.test('emits events of its own, and logs a listener that fails', async (t) => {
  const app = createApp()
  const logger = createLogger()
  app.logger = logger
  const seen: unknown[] = []
  app.on('login', () => {
    throw new Error('broken')
  })
  app.on('login', async () => {
    throw new Error('rejected')
  })
  app.on('login', (result: unknown) => seen.push(result))

  t.equal(app.emit('login', { user: 1 }), true)
  await new Promise(setImmediate)
  t.same(seen, [{ user: 1 }])
  t.match(logger.entries, [
    { level: 'error', details: { event: 'login', err: { message: 'broken' } } },
    { level: 'error', details: { event: 'login', err: { message: 'rejected' } } },
  ])
})

t.test('tells observers of services that come and go', async (t) => {
  const app = createApp().use('early', todos)
  const seen: unknown[] = []
  app.observe((change, path, entry) => seen.push([change, path, entry.service]))

  app.use('todos', todos)
  const service = app.service('todos')
  await app.unuse('todos')
  t.same(seen, [
    ['added', 'todos', service],
    ['removed', 'todos', service],
  ])
})

t.test('an observer that was ended is told nothing more', async (t) => {
  const app = createApp()
  const seen: string[] = []
  const end = app.observe((_change, path) => seen.push(path))
  app.use('todos', todos)
  end()
  await app.unuse('todos')
  t.same(seen, ['todos'])
})
