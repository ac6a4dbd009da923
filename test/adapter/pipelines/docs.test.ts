import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const read = (path: string): string => readFileSync(root + path, 'utf8')

t.test('every code block about pipelines stands in the example that runs', async (t) => {
  const page = read('docs/reference/pipelines.md')
  const [, section = ''] = /^## Pipelines\n([\s\S]*?)^## /m.exec(page) ?? []
  const blocks = [...section.matchAll(/```ts\n([\s\S]*?)```/g)].flatMap(([, code = '']) =>
    code.split('\n\n'),
  )
  t.equal(blocks.length, 3)
  const example = read('examples/mongodb-pipeline.ts')
  for (const block of blocks) t.ok(example.includes(block.trim()), block.split('\n')[0] ?? '')
})
