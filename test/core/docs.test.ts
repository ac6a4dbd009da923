import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import * as core from '../../src/core/index.ts'
import { ServiceError } from '../../src/core/index.ts'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')
}

t.test('every code block of the pages about the core stands in an example that runs', async (t) => {
  const examples = read('examples/services.ts') + read('examples/hooks.ts')
  for (const page of ['services', 'hooks', 'errors'].map((name) => `docs/reference/${name}.md`)) {
    const blocks = [...read(page).matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')
    t.ok(blocks.length > 0, page)
    for (const block of blocks) t.ok(examples.includes(block), `${page}: ${block.split('\n')[0]}`)
  }
})

t.test('the page about errors names every class with its code, and no other', async (t) => {
  const rows = [...read('docs/reference/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \|$/gm)]
  const listed = rows.map(([, name, code]) => ({ name, code: Number(code) }))
  const exported = Object.values(core)
    .filter((value) => typeof value === 'function' && value.prototype instanceof ServiceError)
    .map((value) => value as typeof ServiceError)
    .map(({ name, code }) => ({ name, code }))

  t.same(
    listed,
    exported.sort((a, b) => a.code - b.code),
  )
})
