import t from 'tap'
import type { Params } from '../../../../src/core/index.ts'
import { BadRequest, createApp } from '../../../../src/core/index.ts'
import { resolve, resolveData } from '../../../../src/core/schema/index.ts'

type Fields = Readonly<Record<string, unknown>>

const REFUSED = { name: 'MethodNotAllowed', message: 'Can not create multiple entries', code: 405 }
const FAILED = { name: 'BadRequest', code: 400, data: { name: { message: 'too short' } } }
const rejectName = () => {
  throw new BadRequest('too short')
}

/** A service with the option `multi` of an adapter, whose data is resolved. */
function start(options: object | undefined, resolvePassword: () => unknown = rejectName) {
  const service = { options, create: async (data: unknown) => data, merge: async (d: unknown) => d }
  const users = createApp()
    .use('users', service, { methods: ['create', 'merge'] })
    .service('users')
  const name = resolve<Fields, unknown>({ name: resolvePassword as never })
  users.hooks({ before: { all: [resolveData(name)] } })
  return users
}

const WAYS = [
  { title: 'at once', fail: rejectName },
  { title: 'later', fail: async () => rejectName() },
]

for (const { title, fail } of WAYS) {
  t.test(`a list the service does not take is the error if resolvers fail ${title}`, async (t) => {
    for (const params of [{}, { provider: 'rest' }]) {
      for (const multi of [false, ['patch'], []]) {
        const users = start({ multi }, fail)
        await t.rejects(users.create([{ name: 'a' }], params), REFUSED)
        await t.rejects(users.create([{ name: 'a' }, { name: 'b' }], params), REFUSED)
        await t.rejects(users.create({ name: 'a' }, params), FAILED)
        await t.rejects(async () => users.merge?.([{ name: 'a' }], params), FAILED)
      }
    }
  })

  t.test(`records of other lists have their own errors, ${title}`, async (t) => {
    for (const options of [undefined, {}, { multi: true }, { multi: ['create'] }]) {
      await t.rejects(start(options, fail).create([{ name: 'a' }]), FAILED)
    }
    const allowed = { adapter: { multi: true } } as Params
    await t.rejects(start({ multi: false }, fail).create([{ name: 'a' }], allowed), FAILED)
  })
}

t.test('a list without faults is left to the service, and to hooks that allow it', async (t) => {
  const users = start({ multi: false }, () => 'Ann')
  t.strictSame(await users.create([{ name: 'a' }, {}]), [{ name: 'Ann' }, { name: 'Ann' }])
})
