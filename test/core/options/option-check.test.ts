import t from 'tap'

import type { OptionRules } from '../../../src/core/options/option-check.ts'
import {
  checkOptionNames,
  checkOptions,
  OPTION,
  withDefaults,
} from '../../../src/core/options/option-check.ts'

const RULES: OptionRules = {
  limit: OPTION.limit,
  count: OPTION.count,
  bodyLimit: OPTION.bodyLimit,
  isOn: OPTION.boolean,
  name: OPTION.string,
  names: OPTION.stringList,
  run: OPTION.function,
  json: { ...OPTION.object, keys: { maxDepth: OPTION.limit } },
  sources: {
    expected: 'an object or a list of objects',
    isValid: (value) => typeof value === 'object',
    keys: { service: OPTION.string },
  },
}

t.test('takes every value that an option can have, and undefined for one not given', async () => {
  const options: readonly object[] = [
    {},
    { limit: 0, count: 0, bodyLimit: 1, isOn: false, name: 'a', names: [], run: () => undefined },
    { limit: Number.POSITIVE_INFINITY, bodyLimit: Number.POSITIVE_INFINITY, names: ['a'] },
    { limit: undefined, json: undefined, sources: undefined },
    { json: {}, sources: {} },
    { json: { maxDepth: undefined }, sources: [{ service: 'a' }, {}] },
  ]
  for (const one of options) checkOptions('make()', one, RULES)
})

const WRONG: readonly (readonly [options: unknown, message: string])[] = [
  [null, 'make(): the options must be an object, not null'],
  ['hunter2', 'make(): the options must be an object, not string'],
  [{ limit: Number.NaN }, "make(): the option 'limit' must be a number from 0 on"],
  [{ limit: -1 }, "make(): the option 'limit' must be a number from 0 on"],
  [{ limit: '10' }, "make(): the option 'limit' must be a number from 0 on"],
  [{ limit: null }, "make(): the option 'limit' must be a number from 0 on"],
  [{ count: 1.5 }, "make(): the option 'count' must be a whole number from 0 on"],
  [{ bodyLimit: 0 }, "make(): the option 'bodyLimit' must be a number of bytes from 1 on"],
  [{ isOn: 'yes' }, "make(): the option 'isOn' must be true or false"],
  [{ name: '' }, "make(): the option 'name' must be a non-empty string"],
  [{ names: ['a', 7] }, "make(): the option 'names' must be a list of non-empty strings"],
  [{ run: {} }, "make(): the option 'run' must be a function"],
  [{ json: [] }, "make(): the option 'json' must be an object"],
  [{ json: { maxDepth: '9' } }, "make(): the option 'json.maxDepth' must be a number from 0 on"],
  [{ json: { maxDept: 9 } }, "make(): unknown option 'json.maxDept'; did you mean 'maxDepth'?"],
  [{ json: { other: 9 } }, "make(): unknown option 'json.other', allowed are maxDepth"],
  [{ sources: [{}, { servce: 'a' }] }, "unknown option 'sources.servce'; did you mean 'service'?"],
  [{ Limit: 5 }, "make(): unknown option 'Limit'; did you mean 'limit'?"],
  [{ constructor: 5 }, "make(): unknown option 'constructor', allowed are limit, count"],
  [JSON.parse('{"__proto__":1}'), "make(): unknown option '__proto__', allowed are limit, count"],
]

t.test('names what is wrong, and suggests the name that was meant', async (t) => {
  for (const [options, message] of WRONG) {
    t.throws(() => checkOptions('make()', options, RULES), { name: 'TypeError', message })
  }
})

t.test('does not repeat a value: it may be a secret', async (t) => {
  try {
    checkOptions('make()', { isOn: 'hunter2' }, RULES)
    t.fail('it is refused')
  } catch (error) {
    t.notMatch(String(error), 'hunter2')
  }
})

t.test('checks the names alone where another library checks the values', async (t) => {
  checkOptionNames('listen()', { port: 'whatever' }, ['port'])
  const message = "listen(): unknown option 'prot'; did you mean 'port'?"
  t.throws(() => checkOptionNames('listen()', { prot: 1 }, ['port']), { message })
})

t.test('what is given takes the place of a default, undefined does not', async (t) => {
  const defaults: Record<'a' | 'b' | 'c', number> = Object.freeze({ a: 1, b: 2, c: 3 })
  t.strictSame(withDefaults(defaults, { a: 0, b: undefined }), { a: 0, b: 2, c: 3 })
  t.strictSame(withDefaults<{ a: number | null }>({ a: 1 }, { a: null }), { a: null })
})
