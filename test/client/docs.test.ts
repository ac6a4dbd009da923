import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')
}

t.test('every code block of the page about clients stands in an example that runs', async (t) => {
  const example = ['client', 'client-login'].map((name) => read(`examples/${name}.ts`)).join('\n')
  const blocks = [...read('docs/client.md').matchAll(/```ts\n([\s\S]*?)```/g)]
  t.ok(blocks.length > 0)
  for (const [, block = ''] of blocks) t.ok(example.includes(block), block.split('\n')[0] ?? '')
})
