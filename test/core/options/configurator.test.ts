import t from 'tap'
import { metadataOf } from '../../../src/core/function-metadata.ts'
import type { Application } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { createConfigurator } from '../../../src/core/options/configurator.ts'

type Configure = Parameters<Application['configure']>[0]

function colours(options: object = {}): Configure {
  return createConfigurator('colours', options, (app: Application) => app.set('colours', options))
}

t.test('a factory makes functions for configure(), which are known by its name', async (t) => {
  const configure = colours({ red: true })
  t.same(createApp().configure(configure).get('colours'), { red: true })
  t.equal(metadataOf(configure).configuratorFactory, 'colours')
  t.equal(metadataOf(colours).configuratorFactory, undefined)
})

t.test('a factory that is configured itself says that it has to be called', async (t) => {
  t.throws(() => createApp().configure(colours as Configure), {
    name: 'TypeError',
    message: 'app.configure(colours) lacks the call of colours: app.configure(colours())',
  })
})

t.test('configure() refuses what is no function of the application', async (t) => {
  const app = createApp()
  const plugin = (_server: unknown, _options: unknown): void => undefined
  const cases: [unknown, string][] = [
    [undefined, 'app.configure() takes a function (app), not undefined'],
    [null, 'app.configure() takes a function (app), not null'],
    [{}, 'app.configure() takes a function (app), not object'],
    [
      Promise.resolve(colours()),
      'app.configure() takes a function (app), not a promise: await it first',
    ],
    [plugin, "'plugin' takes 2 arguments: app.configure() takes a function (app)"],
  ]
  for (const [value, message] of cases) {
    t.throws(() => app.configure(value as Configure), { name: 'TypeError', message })
  }
})
