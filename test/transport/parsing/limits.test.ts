import t from 'tap'

import { resolveLimits } from '../../../src/transport/parsing/limits.ts'

const DEFAULTS = Object.freeze({ most: 10, longest: 20 })

t.test('a limit may be 0, or infinite for none; undefined is the default', async (t) => {
  const given = { most: 0, longest: Number.POSITIVE_INFINITY }
  t.strictSame(resolveLimits('read()', DEFAULTS, given), given)
  t.strictSame(resolveLimits('read()', DEFAULTS, { most: undefined }), DEFAULTS)
})

t.test('a limit that nothing exceeds, or everything, is refused by its name', async (t) => {
  for (const most of [Number.NaN, -1, '10', null, {}]) {
    const message = `read(): 'most' must be a number from 0 on, not ${String(most)}`
    t.throws(() => resolveLimits('read()', DEFAULTS, { most: most as never }), {
      name: 'TypeError',
      message,
    })
  }
})
