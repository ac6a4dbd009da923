import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')
}

t.test('every code block of the pages about clients stands in an example that runs', async (t) => {
  const names = ['client', 'client-login', 'first-client']
  const examples = names.map((name) => read(`examples/${name}.ts`)).join('\n')
  for (const page of ['docs/reference/client.md', 'docs/reference/client-login.md']) {
    const blocks = [...read(page).matchAll(/```ts\n([\s\S]*?)```/g)]
    t.ok(blocks.length > 0)
    for (const [, block = ''] of blocks) t.ok(examples.includes(block), block.split('\n')[0] ?? '')
  }
})
