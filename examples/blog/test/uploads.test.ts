import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdir, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { basename } from 'node:path'
import { test } from 'node:test'
import { startBlog } from './start-blog.ts'

const { app, guest, imageFolder, signUp } = await startBlog()
const ann = await signUp('ann')
const bob = await signUp('bob')

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const HTML = '<script>alert(1)</script>'

/** Runs once, after the image route reads a post and before it writes to it. */
let meanwhile: ((id: string) => Promise<unknown>) | undefined
app.service('posts').hooks({
  before: {
    patch: [
      async ({ id }) => {
        const other = meanwhile
        meanwhile = undefined
        await other?.(String(id))
      },
    ],
  },
})

/** Returns a form with a file of this name and type. */
function formOf(content: Buffer | string, name = 'tea.png', type = 'image/png'): FormData {
  const form = new FormData()
  form.set('image', new Blob([content], { type }), name)
  return form
}

/** Resolves to the error of the next failing route, because no client gets the response. */
function nextRouteError(): Promise<unknown> {
  const channel = 'tracing:fastify.request.handler:error'
  return new Promise((resolve) => {
    subscribe(channel, function listen(message) {
      unsubscribe(channel, listen)
      resolve(Object(message).error)
    })
  })
}

async function createPost(): Promise<string> {
  const { body } = await ann.post('/posts', { title: 'Of tea', text: '', draft: false })
  return `/posts/${body._id}`
}

test('stores an image that the author of a post uploads, for everyone', async () => {
  const path = await createPost()
  const { status, body } = await ann.post(`${path}/image`, formOf(PNG))
  assert.equal(status, 200)
  const image = await guest.get(`/images/${body.image}`)
  assert.equal(image.status, 200)
  assert.equal(image.headers.get('content-type'), 'image/png')
  assert.equal(image.headers.get('x-content-type-options'), 'nosniff')
  assert.match(String(image.headers.get('content-security-policy')), /sandbox/)
})

test('rejects images of other callers, and stores nothing', async () => {
  const path = await createPost()
  const before = await readdir(imageFolder)
  assert.equal((await guest.post(`${path}/image`, formOf(PNG))).status, 401)
  assert.equal((await bob.post(`${path}/image`, formOf(PNG))).status, 404)
  assert.equal((await bob.post(`${path}/image?authorId=${ann.id}`, formOf(PNG))).status, 404)
  assert.deepEqual(await readdir(imageFolder), before)
})

test('rejects files that are no image, whatever type they declare', async () => {
  const path = await createPost()
  const before = await readdir(imageFolder)
  for (const content of [HTML, '<svg xmlns="http://www.w3.org/2000/svg"/>', '', 'GIF89a']) {
    assert.equal((await ann.post(`${path}/image`, formOf(content))).status, 415)
  }
  assert.equal((await ann.post(`${path}/image`, { image: 'x' })).status, 406)
  assert.equal((await ann.post(`${path}/image`, new FormData())).status, 400)
  assert.deepEqual(await readdir(imageFolder), before)
})

test('ignores the name of the file', async () => {
  const path = await createPost()
  for (const name of ['../../app.js', '/etc/passwd', 'tea.html', '..\\x', '.env']) {
    const html = Buffer.concat([PNG, Buffer.from(HTML)])
    const { body } = await ann.post(`${path}/image`, formOf(html, name, 'text/html'))
    assert.match(String(body.image), /^[\da-f-]{36}\.png$/)
    const { headers } = await guest.get(`/images/${body.image}`)
    assert.equal(headers.get('content-type'), 'image/png')
  }
})

test('serves only files of the folder', async (t) => {
  const neighbour = `${imageFolder}.txt`
  await writeFile(neighbour, 'secret')
  t.after(() => rm(neighbour))
  const name = basename(neighbour)
  for (const path of ['', `..%2f${name}`, `%2e%2e%2f${name}`, `..%5c${name}`, `%2e%2e/${name}`]) {
    assert.match(String((await guest.get(`/images/${path}`)).status), /^40[34]$/, path)
  }
})

test('accepts a file up to the limit, and no larger one', async () => {
  const path = await createPost()
  const toImage = (bytes: number) => formOf(Buffer.concat([PNG], bytes))
  assert.equal((await ann.post(`${path}/image`, toImage(2 * 1024 * 1024))).status, 200)
  assert.equal((await ann.post(`${path}/image`, toImage(2 * 1024 * 1024 + 1))).status, 413)
})

test('replaces the old image, and removes it with the post', async () => {
  const path = await createPost()
  const before = await readdir(imageFolder)
  for (const content of [PNG, Buffer.from('ffd8ffe0', 'hex')]) {
    assert.equal((await ann.post(`${path}/image`, formOf(content))).status, 200)
    assert.equal((await readdir(imageFolder)).length, before.length + 1)
  }
  assert.equal((await ann.remove(path)).status, 200)
  assert.deepEqual(await readdir(imageFolder), before)
})

test('removes the image with its post, whatever fields the caller selects', async () => {
  for (const query of ['$select[]=title', '$select[]=_id&$select[]=title']) {
    const path = await createPost()
    const before = await readdir(imageFolder)
    await ann.post(`${path}/image`, formOf(PNG))
    const { status, body } = await ann.remove(`${path}?${query}`)
    assert.equal(status, 200)
    assert.equal(body.title, 'Of tea')
    assert.deepEqual(await readdir(imageFolder), before)
  }
})

test('keeps one of many simultaneous images, the one that the post names', async () => {
  const path = await createPost()
  const before = await readdir(imageFolder)
  const uploads = Array.from({ length: 6 }, () => ann.post(`${path}/image`, formOf(PNG)))
  const statuses = (await Promise.all(uploads)).map(({ status }) => status)
  assert.ok(statuses.includes(200))
  for (const status of statuses) assert.ok(status === 200 || status === 409, `${status}`)
  const { image } = (await ann.get(path)).body
  assert.deepEqual((await readdir(imageFolder)).sort(), [...before, image].sort())
})

test('keeps no image of a post that is removed or changed during the upload', async () => {
  const others: readonly ((id: string) => Promise<unknown>)[] = [
    (id) => app.service('posts')._remove(id),
    (id) => app.service('posts')._patch(id, { image: 'other.png' }),
  ]
  for (const other of others) {
    const path = await createPost()
    const before = await readdir(imageFolder)
    meanwhile = other
    assert.equal((await ann.post(`${path}/image`, formOf(PNG))).status, 409)
    assert.deepEqual(await readdir(imageFolder), before)
  }
})

test('returns 400 for a form that cannot be read', async () => {
  const path = await createPost()
  for (const [type, content] of [
    ['multipart/form-data; boundary=b', 'no form'],
    ['multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="image"; fi'],
    ['multipart/form-data', '--b'],
  ] as const) {
    const { status } = await ann.post(`${path}/image`, new Blob([content], { type }))
    assert.equal(status, 400, content)
  }
})

test('treats a form that its sender aborts as an error of the caller', async () => {
  const path = await createPost()
  const before = await readdir(imageFolder)
  const large = Buffer.concat([PNG], 1024 * 1024)
  const moments: readonly ((raw: IncomingMessage) => void)[] = [
    ({ socket }) => socket.destroy(),
    // Runs when the server starts to read it.
    (raw) => raw.once('resume', () => raw.socket.destroy()),
  ]
  for (const breakOff of moments) {
    app.fastify.server.once('request', breakOff)
    const error = nextRouteError()
    await assert.rejects(ann.post(`${path}/image`, formOf(large)))
    assert.equal(Object(await error).code, 400)
  }
  assert.deepEqual(await readdir(imageFolder), before)
})

test('accepts forms only at the image route', async () => {
  assert.equal((await ann.post('/posts', formOf(PNG))).status, 415)
})
