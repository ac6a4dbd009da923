import t from 'tap'
import { suggestName } from '../../../src/core/options/name-suggestion.ts'

t.test('suggests the name that is closest', async (t) => {
  for (const [mistyped, names, suggestion] of [
    ['defualt', ['max', 'default'], 'default'],
    ['https', ['http', 'https2', 'https'], 'https'],
    ['USERS', ['user', 'users'], 'users'],
    ['pagination', ['paginate', 'filters'], 'paginate'],
  ] as const) {
    t.equal(suggestName(mistyped, names), `; did you mean '${suggestion}'?`)
  }
})

t.test('suggests nothing for another word', async (t) => {
  for (const [mistyped, names] of [
    ['weather', ['users', 'notes']],
    ['users', ['notes']],
    ['x'.repeat(1_000), ['users']],
    ['users', []],
  ] as const) {
    t.equal(suggestName(mistyped, names), '')
  }
})
