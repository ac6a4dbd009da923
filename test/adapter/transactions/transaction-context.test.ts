import t from 'tap'

import { takeSnapshot } from '../../../src/adapter/transactions/transaction.ts'
import { addExternalForm, setDispatch, toExternalForm } from '../../../src/core/external-form.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'

async function createPatch(data: object): Promise<HookContext> {
  const app = createApp().use('notes', { patch: async () => null })
  let found: unknown
  app.hooks({
    before: (context) => {
      found = context
    },
  })
  await app.service('notes').patch('1', data)
  return found as HookContext
}

t.test('a record in restored data hides what it has hidden before', async (t) => {
  const protectedUser = { name: 'ann', password: 'x' }
  addExternalForm(protectedUser, () => ({ name: 'ann' }))
  const resolvedUser = { name: 'ben', password: 'x' }
  setDispatch(resolvedUser, { name: 'ben' })
  const context = await createPatch({ users: [protectedUser, resolvedUser] })
  takeSnapshot(context)()
  t.strictSame(context.data, { users: [protectedUser, resolvedUser] })
  t.strictSame(toExternalForm(context.data), { users: [{ name: 'ann' }, { name: 'ben' }] })
})

t.test('restores data that holds itself, and keys that objects inherit', async (t) => {
  const inner = { a: 1 }
  const data: Record<string, unknown> = Object.defineProperty({}, '__proto__', {
    ...{ value: inner, enumerable: true, writable: true, configurable: true },
  })
  data['self'] = data
  const context = await createPatch(data)
  const restore = takeSnapshot(context)
  inner.a = 2
  restore()
  const restored = context.data as Record<string, unknown>
  t.equal(restored['self'], restored)
  t.strictSame(Object.getOwnPropertyDescriptor(restored, '__proto__')?.value, { a: 1 })
  t.equal(Object.getPrototypeOf(restored), Object.prototype)
})

t.test('restores data of any depth', async (t) => {
  const innermost = { a: 1 }
  let data: object = innermost
  for (let depth = 0; depth < 20_000; depth += 1) data = { data }
  const context = await createPatch(data)
  const restore = takeSnapshot(context)
  innermost.a = 2
  restore()
  let restored = context.data as { data?: object }
  while (restored.data !== undefined) restored = restored.data
  t.strictSame(restored, { a: 1 })
})
