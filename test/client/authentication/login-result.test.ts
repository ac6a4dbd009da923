import t from 'tap'
import { compile } from '../../support/compile.ts'

const SOURCE = `import { createClient } from 'remex/client'
const { user } = await createClient({ baseURL: 'http://localhost' }).authenticate({ strategy: 'a' })
export const since: number = user.since`

const DECLARED = `declare module 'remex' {
  interface DeclaredTypes {
    user: { since: Date }
  }
}
import 'remex'`

t.test('the user of a login is the declared one, as it travels', async (t) => {
  const errors = await compile(t, { 'app.ts': SOURCE, 'declared.ts': DECLARED })
  t.match(errors, [/^app\.ts\(3\): error TS2322: Type 'string' is not assignable/])
  t.equal(errors.length, 1)
})

t.test('a user that is not declared is unknown', async (t) => {
  t.match(await compile(t, { 'app.ts': SOURCE }), [/^app\.ts\(3\): error TS18046: 'user' is of/])
})
