import t from 'tap'

import type { HookContext } from '../../../src/core/index.ts'
import { createApp, noteEvent } from '../../../src/core/index.ts'

/** Adds a record where there is none, as an upsert does. */
class Things {
  async update(id: string) {
    const thing = { id }
    if (id !== 'known') noteEvent(thing, id === 'silent' ? null : 'created')
    return thing
  }

  patch(id: string) {
    const thing = { id }
    noteEvent(thing, 'created')
    return thing
  }
}

function createThings() {
  const app = createApp<{ things: Things }>()
  app.use('things', new Things())
  const things = app.service('things')
  const seen: string[] = []
  for (const event of ['created', 'updated', 'patched', 'odd'] as const) {
    things.on(event, (thing) => seen.push(`${event} ${(thing as { id: string }).id}`))
  }
  return { things, seen }
}

t.test('emits the event that a result stands for', async (t) => {
  const { things, seen } = createThings()
  await things.update('known')
  await things.update('new')
  await things.update('silent')
  await things.patch('new')
  t.strictSame(seen, ['updated known', 'created new', 'created new'])
})

const HOOKS: readonly [string, object][] = [
  ['before', { before: { update: [() => undefined] } }],
  ['around', { around: { update: [async (_: HookContext, next: () => Promise<void>) => next()] } }],
]

for (const [title, hooks] of HOOKS) {
  t.test(`hooks see the event, and a hook replacing the result keeps it: ${title}`, async (t) => {
    const { things, seen } = createThings()
    const events: unknown[] = []
    things.hooks(hooks)
    things.hooks({
      after: {
        update: [
          (context: HookContext) => {
            events.push(context.event)
            context.result = { id: 'copy' }
          },
        ],
      },
    })
    await things.update('new')
    t.strictSame(events, ['created'])
    t.strictSame(seen, ['created copy'])
  })
}

t.test('a method without an event hands a result on in silence', async (t) => {
  const { things, seen } = createThings()
  const app = createApp()
  app.use('views', { get: (id: string) => things.update(id), find: async () => [] })
  const views = app.service('views')
  views.on('created', () => seen.push('of the view'))
  views.hooks({ before: { get: [() => undefined] } })
  await views.get('new')
  t.strictSame(seen, ['created new'])
})

t.test('the event that a hook has chosen stays', async (t) => {
  const { things, seen } = createThings()
  things.hooks({
    before: {
      update: [
        (context: HookContext) => {
          context.event = 'odd'
        },
      ],
      patch: [
        (context: HookContext) => {
          context.event = null
        },
      ],
    },
  })
  await things.update('new')
  await things.patch('new')
  t.strictSame(seen, ['odd new'])
})
