import t from 'tap'

import { withDefaults } from '../../src/transport/with-defaults.ts'

t.test('what is given takes the place of a default, undefined does not', async (t) => {
  const defaults: Record<'a' | 'b' | 'c', number> = Object.freeze({ a: 1, b: 2, c: 3 })
  t.strictSame(withDefaults(defaults, { a: 0, b: undefined }), { a: 0, b: 2, c: 3 })
  t.strictSame(withDefaults<{ a: number | null }>({ a: 1 }, { a: null }), { a: null })
})
