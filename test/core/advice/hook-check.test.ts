import t from 'tap'
import type { HookPlace } from '../../../src/core/function-metadata.ts'
import { describeFunction } from '../../../src/core/function-metadata.ts'
import { createApp } from '../../../src/core/index.ts'

/** A hook that notes where it is found when the application is set up. */
function createNoting() {
  const labels: string[] = []
  const hook = describeFunction(() => undefined, {
    checkPlace: ({ label }: HookPlace) => void labels.push(label),
  })
  return { hook, labels }
}

const service = { find: async () => [], get: async () => 1 }

t.test('checks each hook where it is registered, once all services are there', async (t) => {
  const { hook, labels } = createNoting()
  const app = createApp().use('users', service)
  app
    .service('users')
    .hooks([hook])
    .hooks({ before: { find: [hook] }, error: hook })
  app.hooks({ after: { get: [hook] } })
  t.strictSame(labels, [])
  app
    .use('late', service)
    .service('late')
    .hooks({ around: { all: [hook] } })
  await app.setup()
  t.strictSame(labels, [
    "'all' of service 'users'",
    "'before find' of service 'users'",
    "'error all' of service 'users'",
    "'around all' of service 'late'",
    "'after get' of the application",
  ])
})

t.test('checks the hooks of a mounted application with that application', async (t) => {
  const apps: unknown[] = []
  const hook = describeFunction(() => undefined, {
    checkPlace: ({ app }: HookPlace) => void apps.push(app),
  })
  const inner = createApp().use('users', service)
  inner.service('users').hooks({ before: [hook] })
  inner.hooks({ before: [hook] })
  await createApp().use('api', inner).setup()
  t.equal(apps.length, 2)
  t.ok(apps.every((app) => app === inner))
})

t.test('fails the setup with what a check throws, after the services are set up', async (t) => {
  const steps: string[] = []
  const hook = describeFunction(() => undefined, {
    checkPlace: () => {
      steps.push('check')
      throw new TypeError('no way')
    },
  })
  const app = createApp().use('users', { ...service, setup: async () => void steps.push('setup') })
  app.service('users').hooks({ before: [hook] })
  await t.rejects(app.setup(), new TypeError('no way'))
  t.strictSame(steps, ['setup', 'check'])
})
