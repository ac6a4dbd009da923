import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBlog } from './start-blog.ts'

const { guest } = await startBlog()

test('describes the API, with what callers send and get', async () => {
  const { status, body } = await guest.get('/docs/json')
  assert.equal(status, 200)
  const { paths } = body as { paths?: Record<string, Record<string, unknown>> }
  assert.deepEqual(Object.keys(paths ?? {}).sort(), [
    ...['/authentication', '/posts', '/posts/{id}', '/posts/{id}/image'],
    ...['/posts/{postId}/comments', '/posts/{postId}/comments/{id}'],
    ...['/sessions', '/sessions/{id}', '/users', '/users/{id}'],
  ])
  const { get, post } = paths?.['/posts'] ?? {}
  assert.ok(JSON.stringify(get).includes('Posts.views'))
  assert.ok(JSON.stringify(post).includes('"bearer"'))
  assert.equal((await guest.get('/docs')).status, 200)
})
