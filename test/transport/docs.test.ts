import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')
}

t.test('every code block about REST, its server and sockets stands in an example', async (t) => {
  const ofRest = ['rest', 'middleware', 'forms', 'servers', 'outage', 'plugin']
  const names = [...ofRest, 'socketio', 'socketio-client']
  const paths = [...names.map((name) => `examples/${name}.ts`), 'templates/mongodb/src/server.ts']
  const examples = paths.map(read).join('\n')
  for (const name of ['rest', 'server', 'socketio']) {
    const page = `docs/reference/${name}.md`
    const blocks = [...read(page).matchAll(/```ts\n([\s\S]*?)```/g)]
    t.ok(blocks.length > 3, page)
    for (const [, block = ''] of blocks) t.ok(examples.includes(block), block.split('\n')[0] ?? '')
  }
})
