import t from 'tap'

import type { Relation } from '../../src/adapter/field-path.ts'
import { isFieldPath, relate, selectOutermost } from '../../src/adapter/field-path.ts'

const HIDDEN = ['password', 'profile.token', 'tokens.secret']

const RELATIONS: readonly [string, Relation][] = [
  ['password', 'inside'],
  ['password.x', 'inside'],
  ['password.0', 'inside'],
  ['passwords', 'apart'],
  ['pass', 'apart'],
  ['Password', 'apart'],
  ['profile', 'above'],
  ['profile.0', 'above'],
  ['profile.name', 'apart'],
  ['profile.token.text', 'inside'],
  ['tokens.0.secret', 'inside'],
  ['tokens.0.1.secret', 'inside'],
  ['tokens.$.secret', 'inside'],
  ['tokens.$[].secret', 'inside'],
  ['tokens.$[item].secret', 'inside'],
  ['tokens.12', 'above'],
  ['0', 'apart'],
  ['x.password', 'apart'],
]

t.test('knows how a path stands to others, wherever it points into a list', async (t) => {
  for (const [path, relation] of RELATIONS) t.equal(relate(path, HIDDEN), relation, path)
  t.equal(relate('password', []), 'apart')
})

t.test('keeps the outermost of paths that lie inside each other', async (t) => {
  t.strictSame(selectOutermost(['a.b', 'a', 'a.b.c', 'ab', 'a']), ['a', 'ab'])
})

t.test('takes for a path what a record can have', async (t) => {
  for (const path of ['a', 'a.b', 'a.0.b', 'constructor']) t.ok(isFieldPath(path), path)
  for (const path of ['', 'a.', '.a', 'a..b', '$a', 'a.$b', 'a\0', '__proto__', 1, null]) {
    t.notOk(isFieldPath(path), String(path))
  }
})
