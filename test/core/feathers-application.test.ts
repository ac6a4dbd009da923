import t from 'tap'

import { compile } from '../support/compile.ts'

/** What plug-ins of Feathers are, functions and classes that take its application, and ours. */
const SOURCE = `import type { Application as FeathersApplication } from '@feathersjs/feathers'
import { createApp, fastifyApp } from 'remex'
export declare function plugIn(app: FeathersApplication): void
export declare class Management { constructor(app: FeathersApplication) }
interface Services { notes: { get(id: string): Promise<{ text: string }> } }
export const app = createApp<Services, { port: number }>()
export const anyServer = fastifyApp(createApp())
export const server = fastifyApp(app)
`

const SERVERS = `anyServer.configure(plugIn)
server.configure(plugIn)
export const managements = [new Management(anyServer), new Management(server)]
`

t.test('an application fits where plug-ins of Feathers take one', async (t) => {
  const others = 'createApp().configure(plugIn)\napp.configure(plugIn)\nnew Management(app)\n'
  t.strictSame(await compile(t, { 'app.ts': SOURCE + SERVERS + others }), [])
})

t.test('it fits where packages add to an application of Feathers and it is declared', async (t) => {
  const additions = `import '@feathersjs/authentication-client'
import '@feathersjs/transport-commons'
import type { Application } from '@feathersjs/feathers'
declare module 'remex' {
  interface DeclaredTypes { feathers: Application }
}
`
  const uses = "server.channel('all')\nserver.lookup('/notes')\nserver.service('note')\n"
  const files = { 'declared.ts': additions, 'app.ts': SOURCE + SERVERS + uses }
  const errors = await compile(t, files)
  t.match(errors, [/^app\.ts\(12\): error TS2349: This expression is not callable/, /'"note"'/])
  t.equal(errors.length, 2)
})

const WRONG: readonly [call: string, error: string][] = [
  ["app.service('note')", `TS2345: Argument of type '"note"' is not assignable to parameter of`],
  ["app.get('host')", `TS2345: Argument of type '"host"' is not assignable to parameter of`],
  ["app.set('port', '1')", "TS2345: Argument of type 'string' is not assignable to parameter of"],
  ["app.unuse('note')", `TS2345: Argument of type '"note"' is not assignable to parameter of`],
  ['app.hooks({ befor: {} })', "TS2322: Type '{}' is not assignable to type '\"'befor' is neither"],
  ['app.service()', "TS2684: The 'this' context of type"],
  ["app.configure((it) => it.service('note'))", `TS2345: Argument of type '"note"'`],
]

t.test('it takes no more than before from those who call it, and says what is wrong', async (t) => {
  const calls = WRONG.map(([call]) => call).join('\n')
  const errors = await compile(t, { 'app.ts': SOURCE + calls })
  t.equal(errors.length, WRONG.length)
  for (const [index, [call, error]] of WRONG.entries()) t.match(errors[index], error, call)
})
