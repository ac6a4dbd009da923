import t from 'tap'
import { readSelection } from '../../../../src/core/schema/resolvers/selection.ts'

const callOf = (service: object) => ({ method: 'get', params: {}, service })

t.test('the id is what the service says, by itself or by its options', async (t) => {
  const select = ['name']
  t.strictSame(readSelection(select, callOf({ id: 'no' })), ['name', 'no'])
  t.strictSame(readSelection(select, callOf({ options: { id: 'key' } })), ['name', 'key'])
  t.strictSame(readSelection(select, callOf({ id: 7, options: null })), ['name', '_id', 'id'])
  t.strictSame(readSelection(select, { method: 'get', params: {} }), ['name', '_id', 'id'])
})

t.test('each name is there once, and paths by the property that they begin with', async (t) => {
  const names = ['author.name', 'author', 'id', 'author.age']
  t.strictSame(readSelection(names, callOf({ id: 'id' })), ['author', 'id'])
})

t.test('a list of a URL is one name, or an object by positions', async (t) => {
  t.strictSame(readSelection('name', callOf({ id: 'id' })), ['name', 'id'])
  t.strictSame(readSelection({ 0: 'a', 21: 'b' }, callOf({ id: 'id' })), ['a', 'b', 'id'])
  t.strictSame(readSelection([], callOf({ id: 'id' })), ['id'])
})

t.test('what selects no names selects nothing here: the service refuses it', async (t) => {
  for (const select of [undefined, null, 7, [7], { a: 'b' }, [''], new Date(0)]) {
    t.equal(readSelection(select, callOf({})), undefined)
  }
})
