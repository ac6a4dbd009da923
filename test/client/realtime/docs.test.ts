import { readFileSync } from 'node:fs'
import t from 'tap'
import { compile } from '../../support/compile.ts'

const page = readFileSync(
  new URL('../../../../docs/reference/realtime-client.md', import.meta.url),
  'utf8',
)

/** What the blocks of the page need. */
const SERVICES = `interface Task { id: number; text: string; team: number; due: string }
interface Services { tasks: { find(params?: { query?: Partial<Task> & { $sort?: object } }): Promise<Task[]> } }
`
const CLIENT = `import { createClient } from 'remex/client'
import 'remex/client/realtime'
${SERVICES}declare const client: ReturnType<typeof createClient<Services>>
`
/** JSX without types: those of React are not installed. */
const JSX = `declare namespace JSX {
  interface IntrinsicElements { [name: string]: object }
}
`

t.test('every code block of the page compiles', async (t) => {
  const blocks = [...page.matchAll(/```(tsx?|vue)\n([\s\S]*?)```/g)]
  t.strictSame(
    blocks.map(([, language]) => language),
    ['ts', 'tsx', 'vue'],
  )
  const files = blocks.map(([, language, block = '']) => {
    const head = block.includes('createClient') ? SERVICES : CLIENT
    const [, script] = /<script setup lang="ts">\n([\s\S]*?)<\/script>/.exec(block) ?? []
    // What the template reads, the compiler does not see.
    const text = script === undefined ? block : `${script}void [data, loading, error]`
    return [language === 'tsx' ? 'react.tsx' : `${language}.ts`, head + text]
  })
  const errors = await compile(t, { ...Object.fromEntries(files), 'jsx.d.ts': JSX })
  t.strictSame(errors, [])
})
