import { readFileSync } from 'node:fs'
import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import { idleCollection } from '../support/idle-collection.ts'

function read(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
}

t.test('every code block about types stands in an example that runs', async (t) => {
  const page = read('docs/reference/mongodb-types.md')
  const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  t.ok(blocks.length > 0)
  const example = read('examples/mongodb-types.ts')
  for (const block of blocks) t.ok(example.includes(block), block.split('\n')[0] ?? '')
})

t.test('makes instances of its own and of its subclasses', async (t) => {
  class Notes extends MongoDBService {}
  const notes = new Notes({ Model: idleCollection })
  t.ok(notes instanceof MongoDBService)
  t.ok(notes instanceof Notes)
  t.equal(MongoDBService.name, 'MongoDBService')
  t.equal(Notes.name, 'Notes')
})
