import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD, startBlog } from './start-blog.ts'

const { guest, signUp } = await startBlog()
const ann = await signUp('ann')
const bob = await signUp('bob')

test('returns a new user without the password', async () => {
  const cy = { email: 'Cy@Example.org', name: 'Cy', password: PASSWORD }
  const { status, body } = await guest.post('/users', cy)
  assert.equal(status, 201)
  assert.deepEqual({ ...body, _id: '' }, { _id: '', email: 'cy@example.org', name: 'Cy' })
})

test('rejects a second user with the same email in another case', async () => {
  const again = { email: 'ANN@example.org', name: 'Ann', password: PASSWORD }
  assert.equal((await guest.post('/users', again)).status, 409)
})

test('reports errors in a new user by field', async () => {
  const user = { email: 'eve@example.org', name: 'Eve', password: PASSWORD }
  for (const [name, value] of Object.entries({ email: 'eve', name: ' ', password: 'x' })) {
    const { status, body } = await guest.post('/users', { ...user, [name]: value })
    assert.equal(status, 400)
    assert.equal(body.data?.[0]?.instancePath, `/${name}`)
  }
})

test('rejects an id, a role, and many users at once', async () => {
  const user = { email: 'eve@example.org', name: 'Eve', password: PASSWORD }
  for (const more of [{ _id: ann.id }, { role: 'admin' }, { 'a.b': 1 }, { $set: {} }]) {
    assert.equal((await guest.post('/users', { ...user, ...more })).status, 400)
  }
  assert.equal((await guest.post('/users', [user])).status, 405)
})

test('logs in with the email in any case, and returns no password', async () => {
  const login = { strategy: 'local', email: 'ANN@example.org', password: PASSWORD }
  const { status, body } = await guest.post('/authentication', login)
  assert.equal(status, 201)
  assert.deepEqual(body['user'], { _id: ann.id, email: 'ann@example.org', name: 'ann' })
})

test('requires the password for a login', async () => {
  const login = { strategy: 'local', email: 'ann@example.org' }
  for (const password of ['wrong', '', { $ne: '' }, undefined]) {
    assert.equal((await guest.post('/authentication', { ...login, password })).status, 401)
  }
})

test('lets users see and change only themselves', async () => {
  assert.equal((await ann.get(`/users/${ann.id}`)).body['email'], 'ann@example.org')
  assert.equal((await bob.get(`/users/${ann.id}`)).status, 404)
  assert.equal((await guest.get(`/users/${ann.id}`)).status, 401)
  assert.equal((await ann.patch(`/users/${ann.id}`, { name: 'Ann' })).body['name'], 'Ann')
  assert.equal((await bob.patch(`/users/${ann.id}`, { name: 'x' })).status, 404)
  assert.equal((await bob.patch(`/users/${ann.id}?_id=${ann.id}`, { name: 'x' })).status, 400)
  assert.equal((await bob.patch('/users', { name: 'x' })).status, 405)
  assert.equal((await ann.patch(`/users/${ann.id}`, { email: 'x@example.org' })).status, 400)
})

test('requires the current password for a new one', async () => {
  const cat = await signUp('cat')
  const path = `/users/${cat.id}`
  const password = 'another horse battery'
  const { status, body } = await cat.patch(path, { password })
  assert.equal(status, 400)
  assert.match(String(body.data?.[0]?.['message']), /must have property currentPassword/)
  for (const currentPassword of ['wrong', '', { $ne: '' }, null]) {
    const { status } = await cat.patch(path, { password, currentPassword })
    assert.match(String(status), /^40[01]$/)
  }
  const login = { strategy: 'local', email: 'cat@example.org' }
  assert.equal((await guest.post('/authentication', { ...login, password })).status, 401)
  const changed = await cat.patch(path, { password, currentPassword: PASSWORD })
  assert.deepEqual(changed.body, { _id: cat.id, email: 'cat@example.org', name: 'cat' })
  assert.equal((await guest.post('/authentication', { ...login, password })).status, 201)
})

test('lets users renew, list and end their logins, and ends them with a new password', async () => {
  const eve = await signUp('eve')
  const login = { strategy: 'local', email: 'eve@example.org', password: PASSWORD }
  const logIn = async () => (await guest.post('/authentication', login)).body['refreshToken']
  const refresh = (refreshToken: unknown) =>
    guest.post('/authentication', { strategy: 'refresh', refreshToken })
  const [phone, laptop] = [await logIn(), await logIn()]
  const { status, body } = await refresh(phone)
  assert.equal(status, 201)
  const sessions = (await eve.get('/sessions?$sort[createdAt]=1')).body.data ?? []
  assert.deepEqual(
    sessions.map(({ current }) => current),
    [true, false, false],
  )
  assert.equal((await bob.remove(`/sessions/${sessions[1]?._id}`)).status, 404)
  assert.equal((await eve.remove(`/sessions/${sessions[1]?._id}`)).status, 200)
  assert.equal((await refresh(body['refreshToken'])).status, 401)
  const data = { password: 'another horse battery', currentPassword: PASSWORD }
  assert.equal((await eve.patch(`/users/${eve.id}`, data)).status, 200)
  assert.equal((await refresh(laptop)).status, 401)
})

test('rejects lists, replacements and removals of users', async () => {
  assert.equal((await ann.get('/users')).status, 405)
  assert.equal((await ann.send('PUT', `/users/${ann.id}`, { name: 'x' })).status, 405)
  assert.equal((await ann.remove(`/users/${ann.id}`)).status, 405)
})

test('limits guesses of the current password with a token', async () => {
  const dan = await signUp('dan')
  const data = { password: 'another horse battery', currentPassword: 'wrong' }
  const statuses = []
  while (statuses.at(-1) !== 429 && statuses.length < 20) {
    statuses.push((await dan.patch(`/users/${dan.id}`, data)).status)
  }
  assert.equal(statuses.at(-1), 429)
})
