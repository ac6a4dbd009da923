import { runInNewContext } from 'node:vm'
import { ObjectId } from 'bson'
import t from 'tap'

import {
  isNonEmptyString,
  isObject,
  isPlainObject,
  isPromise,
  isSingleValue,
  isStringList,
} from '../../src/core/value-kind.ts'

class Thing {
  readonly a = 1
}

const VALUES: readonly unknown[] = [
  ...[undefined, null, true, 0, '', 'a', Symbol('a'), () => 1],
  ...[{}, Object.create(null), [], ['a'], new Thing(), new Date(0), new ObjectId()],
]

t.test('an object is anything but null that is of the type, lists included', async (t) => {
  t.strictSame(VALUES.filter(isObject), VALUES.slice(8))
})

t.test('a plain object has no class, whatever its keys and the realm it comes from', async (t) => {
  t.strictSame(VALUES.filter(isPlainObject), [{}, Object.create(null)])
  t.ok(isPlainObject({ constructor: Thing }))
  t.ok(isPlainObject(JSON.parse('{"__proto__":{"a":1}}')))
  t.ok(isPlainObject(runInNewContext('({ a: 1 })')))
  t.notOk(isPlainObject(runInNewContext('[1]')))
})

t.test('a single value is an object without fields, which no JSON can pretend to be', async (t) => {
  const single = [new Date(0), /a/, Buffer.from('a'), new Uint8Array(1), new ObjectId()]
  t.ok(single.every(isSingleValue))
  const others = [{}, [], new Map(), new Thing(), new Float32Array(1), { _bsontype: 'ObjectId' }]
  t.notOk(others.some(isSingleValue))
})

t.test('what has a function then can be awaited', async (t) => {
  const withThen = (then: unknown): object => Object.fromEntries([['then', then]])
  t.ok([Promise.resolve(), withThen(() => undefined)].every(isPromise))
  t.notOk([...VALUES, withThen(1)].some(isPromise))
})

t.test('strings, and lists of them, must not be empty strings', async (t) => {
  t.strictSame(VALUES.filter(isNonEmptyString), ['a'])
  t.strictSame(VALUES.filter(isStringList), [[], ['a']])
  t.notOk(isStringList(['a', '']))
})
