import { readFileSync } from 'node:fs'
import t from 'tap'
import { compile } from '../../support/compile.ts'

const page = readFileSync(
  new URL('../../../../docs/reference/realtime-client.md', import.meta.url),
  'utf8',
)

/** What the blocks of the page need: services, and as much of the frameworks as they use. */
const SERVICES = `interface Task { id: number; text: string; team: number; due: string }
interface Services { tasks: { find(params?: { query?: Partial<Task> & { $sort?: object } }): Promise<Task[]> } }
`
const CLIENT = `import { createClient } from 'remex/client'
import 'remex/client/realtime'
${SERVICES}declare const client: ReturnType<typeof createClient<Services>>
`
const FRAMEWORKS = `declare module 'react' {
  export function useState<T>(): [T | undefined, (value: T) => void]
  export function useEffect(effect: () => () => void, values: unknown[]): void
  export function useCallback<T>(callback: T, values: unknown[]): T
  export function useSyncExternalStore<T>(subscribe: (tell: () => void) => () => void, read: () => T): T
}
declare module 'vue' {
  export function onScopeDispose(dispose: () => void): void
  export function shallowRef<T>(value?: T): { value: T }
}
`

t.test('every code block of the page compiles', async (t) => {
  const blocks = [...page.matchAll(/```tsx?\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  t.equal(blocks.length, 3)
  const files = blocks.map((block, index) => {
    const head = block.includes('createClient') ? SERVICES : CLIENT
    return [`block-${index}.ts`, head + block]
  })
  const errors = await compile(t, { ...Object.fromEntries(files), 'frameworks.d.ts': FRAMEWORKS })
  t.strictSame(errors, [])
})
