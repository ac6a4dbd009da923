import t from 'tap'
import { deriveOnce } from '../../../src/auth/settings-values.ts'

t.test('derives a value once from the same settings, even from none', async (t) => {
  let settings: object | undefined
  let derived = 0
  const read = deriveOnce(
    () => settings,
    (given) => {
      derived += 1
      return { given }
    },
  )
  t.strictSame(read(), { given: undefined })
  t.equal(read(), read())
  t.equal(derived, 1)
  settings = { a: 1 }
  t.strictSame(read(), { given: { a: 1 } })
  t.equal(derived, 2)
})
