import t from 'tap'
import {
  DateSchema,
  resolve,
  resolveData,
  Type,
  validateData,
} from '../../src/core/schema/index.ts'
import { MODES, startServer } from '../support/http.ts'

const User = Type.Object({
  password: Type.String({ maxLength: 8 }),
  born: Type.Optional(DateSchema()),
})

for (const mode of MODES) {
  t.test(`the check by the schemas of a service, ${mode}`, async (t) => {
    const seen: unknown[] = []
    const see = async (password: unknown): Promise<string> => {
      seen.push(password)
      return `hash of ${String(password)}`
    }
    const { request } = await startServer(t, mode, {
      services: (app) => {
        app.use('users', { create: async (data: object) => data }, { schemas: { create: User } })
        const userData = resolve<Record<string, unknown>, unknown>({
          password: see,
          createdBy: async () => 'the server',
        })
        const validate = validateData(async (data: object) => {
          seen.push(data)
          return data
        })
        app.service('users').hooks({ before: { create: [resolveData(userData), validate] } })
      },
    })

    t.test('refuses data before a hook that resolves or validates it', async (t) => {
      const { status } = await request('/users', { data: { password: { $ne: '' } } })
      t.equal(status, 400)
      t.strictSame(seen.splice(0), [])
    })

    t.test('takes what such a hook adds', async (t) => {
      const { status, body } = await request('/users', { data: { password: 'secret' } })
      t.equal(status, 201)
      t.strictSame(body, { password: 'hash of secret', createdBy: 'the server' })
      t.strictSame(seen.splice(0), ['secret', body])
    })
  })
}
