import t from 'tap'

import { compile } from '../../support/compile.ts'

const SOURCE = `import type { Collection, ObjectId } from 'mongodb'
import { createApp } from 'remex'
import { MongoDBService } from 'remex/mongodb'
interface Post { _id: ObjectId; title: string; likes: number }
declare const Model: Collection<Post>
const posts = new MongoDBService({ Model, paginate: { default: 10 } })
const app = createApp<{ posts: typeof posts }>()
app.use('posts', posts)
`

const linesBefore = SOURCE.split('\n').length

/** A mistake, and what the compiler has to say about it. */
const MISTAKES: Readonly<Record<string, string>> = {
  "posts.find({ query: { titel: 'a' } })": "'titel' does not exist in type 'RecordQuery<Post>'",
  "app.service('posts').find({ query: { titel: 'a' } })":
    "'titel' does not exist in type 'RecordQuery<Post>'",
  "posts.get('1', { query: { titel: 'a' } })": "'titel' does not exist in type 'RecordQuery<Post>'",
  "posts.find({ query: { $or: [{ titel: 'a' }] } })":
    "'titel' does not exist in type 'RecordConditions<Post>'",
  'posts.find({ query: { $sort: { titel: 1 } } })': "'titel' does not exist in type",
  "posts.find({ query: { $select: ['titel'] } })": `Type '"titel"' is not assignable to type`,
  "posts.find({ query: { title: { $like: 'a' } } })": "'$like' does not exist in type",
  "posts.find({ query: { likes: '3' } })":
    "Type 'string' is not assignable to type 'FieldOperators<FieldValue<number>>",
  "posts.create({ titel: 'a', likes: 0 })": "'titel' does not exist in type",
  "posts.patch('1', { like: 1 })": "'like' does not exist in type 'AnyPatch<",
  'new MongoDBService({ Model, pagination: { default: 3 } })':
    "'pagination' does not exist in type",
  'new MongoDBService<Post>({ Model })': "Property 'paginate' is missing in type",
}

t.test('names the field that a query or the data of a record has wrong', async (t) => {
  const errors = await compile(t, {
    'app.ts': SOURCE + Object.keys(MISTAKES).join('\n'),
  })
  t.equal(errors.length, Object.keys(MISTAKES).length)
  for (const [index, [code, claim]] of Object.entries(MISTAKES).entries()) {
    const found = errors.find((error) => error.startsWith(`app.ts(${linesBefore + index})`)) ?? ''
    t.ok(found.includes(claim), `${code}: ${found}`)
  }
})
