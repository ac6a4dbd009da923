import { createHook } from 'node:async_hooks'
import { scryptSync } from 'node:crypto'
import bcrypt from 'bcryptjs'
import t from 'tap'
import { Passwords } from '../../../src/auth/index.ts'
import { nameHash } from '../../../src/auth/passwords/passwords.ts'
import { CHEAP_SCRYPT } from '../login-app.ts'

t.test('hashes with the parameters that OWASP advises, in PHC format', async (t) => {
  const passwords = new Passwords({}, 'scrypt')
  const hash = await passwords.hash('correct horse')
  t.match(hash, /^\$scrypt\$ln=17,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  const [, , , salt = '', key] = hash.split('$')
  const expected = scryptSync('correct horse', Buffer.from(salt, 'base64'), 32, {
    ...{ N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 },
  })
  t.equal(key, expected.toString('base64').replace(/=+$/, ''), 'as Node computes it')
})

t.test('checks passwords against hashes', async (t) => {
  const passwords = new Passwords(CHEAP_SCRYPT, 'scrypt')
  const hash = await passwords.hash('pony')
  t.not(hash, await passwords.hash('pony'), 'each has a salt of its own')
  const right = { isCorrect: true, isOutdated: false, isMalformed: false }
  t.strictSame(await passwords.verify('pony', hash), right)
  t.strictSame(await passwords.verify('Pony', hash), { ...right, isCorrect: false })
  const stronger = new Passwords({ ...CHEAP_SCRYPT, parallelization: 2 }, 'scrypt')
  t.strictSame(await stronger.verify('pony', hash), { ...right, isOutdated: true })
})

/** Counts what Node computes by scrypt meanwhile. */
async function countScrypt(run: () => Promise<unknown>): Promise<number> {
  let count = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'SCRYPTREQUEST') count += 1
    },
  }).enable()
  await run().finally(() => hook.disable())
  return count
}

t.test('an outdated hash costs what one of today does (AUTH-2)', async (t) => {
  const passwords = new Passwords({ ...CHEAP_SCRYPT, cost: 2 ** 11 }, 'scrypt')
  const weak = await new Passwords(CHEAP_SCRYPT, 'weak').hash('pony')
  const cases: [stored: unknown, count: number][] = [
    [undefined, 1],
    [await passwords.hash('pony'), 1],
    [weak, 2],
    [await bcrypt.hash('pony', 4), 1],
  ]
  for (const [stored, count] of cases) {
    t.equal(await countScrypt(() => passwords.verify('wrong pony', stored)), count, `${stored}`)
  }
})

/** Notes when Node begins and has done each hash by scrypt, and when bcrypt is called. */
async function noteOrder(run: () => Promise<unknown>): Promise<string[]> {
  const order: string[] = []
  const ids = new Set<number>()
  const hook = createHook({
    init: (id, type) => {
      if (type !== 'SCRYPTREQUEST') return
      ids.add(id)
      order.push('scrypt begins')
    },
    before: (id) => {
      if (ids.has(id)) order.push('scrypt has done')
    },
  })
  const { compare } = bcrypt
  bcrypt.compare = ((...args: Parameters<typeof compare>) => {
    order.push('bcrypt begins')
    return compare(...args)
  }) as typeof compare
  hook.enable()
  await run().finally(() => {
    hook.disable()
    bcrypt.compare = compare
  })
  return order
}

t.test('scrypt is on its way before bcrypt takes the main thread (AUTH-2)', async (t) => {
  const passwords = new Passwords(CHEAP_SCRYPT, 'scrypt')
  const stored = await bcrypt.hash('pony', 4)
  for (const password of ['pony', 'wrong pony', 'x'.repeat(100)]) {
    const order = await noteOrder(() => passwords.verify(password, stored))
    t.strictSame(order, ['scrypt begins', 'bcrypt begins', 'scrypt has done'], password)
  }
})

t.test('the answer waits for both, also where bcrypt fails (AUTH-2)', async (t) => {
  const passwords = new Passwords({ ...CHEAP_SCRYPT, cost: 2 ** 14 }, 'scrypt')
  const stored = await bcrypt.hash('pony', 4)
  const { compare } = bcrypt
  t.teardown(() => {
    bcrypt.compare = compare
  })
  const failures = {
    'at once': () => {
      throw new Error('out of memory')
    },
    later: () => Promise.reject(new Error('out of memory')),
  }
  for (const [name, fail] of Object.entries(failures)) {
    const order = await noteOrder(async () => {
      bcrypt.compare = fail as unknown as typeof compare
      await t.rejects(passwords.verify('pony', stored), { message: 'out of memory' }, name)
    })
    t.strictSame(order, ['scrypt begins', 'scrypt has done'], name)
  }
})

t.test('bcrypt reads 72 bytes, and a longer password is not hashed anew (AUTH-3)', async (t) => {
  const passwords = new Passwords(CHEAP_SCRYPT, 'scrypt')
  const read = 'x'.repeat(72)
  const stored = await bcrypt.hash(`${read}right end`, 4)
  const verdict = { isCorrect: true, isMalformed: false }
  t.strictSame(await passwords.verify(`${read}typo`, stored), { ...verdict, isOutdated: false })
  t.strictSame(await passwords.verify(read, stored), { ...verdict, isOutdated: true })
})

t.test('hashes by bcrypt where that is set, and never more than it reads (AUTH-3)', async (t) => {
  const passwords = new Passwords({}, 'scrypt', { hash: 'bcrypt' })
  const hash = await passwords.hash('pony')
  t.match(hash, /^\$2b\$10\$/)
  t.ok(await bcrypt.compare('pony', hash), 'as others compare it')
  const right = { isCorrect: true, isOutdated: false, isMalformed: false }
  t.strictSame(await passwords.verify('pony', hash), right)
  t.strictSame(await passwords.verify('Pony', hash), { ...right, isCorrect: false })
  await t.resolves(passwords.hash('x'.repeat(72)))
  for (const password of ['x'.repeat(73), 'ü'.repeat(37), '', 7, null]) {
    await t.rejects(passwords.hash(password), { name: 'BadRequest', code: 400 })
  }
  const dear = new Passwords({}, 'scrypt', { hash: 'bcrypt', hashSize: 11 })
  t.match(await dear.hash('pony'), /^\$2b\$11\$/)
  t.strictSame(await dear.verify('pony', hash), { ...right, isOutdated: true })
})

t.test('a hash by scrypt moves to bcrypt, unless it would cut the password (AUTH-3)', async (t) => {
  const passwords = new Passwords({}, 'scrypt', { hash: 'bcrypt' })
  const scrypt = new Passwords(CHEAP_SCRYPT, 'scrypt')
  for (const [password, isOutdated] of [
    ['x'.repeat(72), true],
    ['x'.repeat(73), false],
  ] as const) {
    const verdict = await passwords.verify(password, await scrypt.hash(password))
    t.strictSame(verdict, { isCorrect: true, isOutdated, isMalformed: false })
  }
})

t.test('each check by bcrypt is as much work as one of today (AUTH-2)', async (t) => {
  const passwords = new Passwords({}, 'scrypt', { hash: 'bcrypt' })
  const { compare } = bcrypt
  const costs: number[] = []
  t.teardown(() => {
    bcrypt.compare = compare
  })
  bcrypt.compare = ((password: string, hash: string) => {
    costs.push(bcrypt.getRounds(hash))
    return compare(password, hash)
  }) as typeof compare
  const scrypt = await new Passwords(CHEAP_SCRYPT, 'scrypt').hash('pony')
  const cases: [stored: unknown, costs: number[], scrypts: number][] = [
    [undefined, [10], 0],
    ['no hash', [10], 0],
    [await passwords.hash('pony'), [10], 0],
    // 2^8 + 2^8 + 2^9 is 2^10.
    [await bcrypt.hash('pony', 8), [8, 8, 9], 0],
    [await bcrypt.hash('pony', 11), [11], 0],
    [scrypt, [10], 1],
  ]
  for (const [stored, expected, scrypts] of cases) {
    for (const password of ['pony', 'wrong pony']) {
      costs.length = 0
      t.equal(await countScrypt(() => passwords.verify(password, stored)), scrypts, `${stored}`)
      t.strictSame(costs.sort(), expected.sort(), `${stored}`)
    }
  }
})

t.test('takes nothing for a hash that is none, or that costs too much to check', async (t) => {
  const passwords = new Passwords(CHEAP_SCRYPT, 'scrypt')
  const hash = await passwords.hash('pony')
  const stored: unknown[] = [
    ...['x', 'pony', hash.slice(0, -25), `${hash}$`, ` ${hash}`, hash.replace('ln=10', 'ln=30')],
    ...[hash.replace('ln=10', 'ln=0'), hash.replace('p=1', 'p=99'), hash.replace('r=8', 'r=0')],
    ...['$argon2id$v=19$m=65536,t=2,p=1$c2FsdA$aGFzaA', `$2b$31$${'a'.repeat(53)}`],
  ]
  for (const text of stored) {
    const verdict = await passwords.verify('pony', text)
    t.strictSame(verdict, { isCorrect: false, isOutdated: false, isMalformed: true }, String(text))
  }
  for (const nothing of [undefined, null, '', 7, {}, [hash]]) {
    t.match(await passwords.verify('pony', nothing), { isCorrect: false, isMalformed: false })
  }
})

t.test('hashes only texts that can be passwords', async (t) => {
  const passwords = new Passwords(CHEAP_SCRYPT, 'scrypt')
  for (const password of ['', undefined, null, 7, {}, ['pony']]) {
    await t.rejects(passwords.hash(password), { name: 'BadRequest', code: 400 })
  }
})

t.test('200 logins at once leave the event loop free and are bounded (RES-11)', async (t) => {
  const options = { ...CHEAP_SCRYPT, cost: 2 ** 14, concurrency: 1, maxQueued: 20 }
  const passwords = new Passwords(options, 'scrypt')
  const hash = await passwords.hash('pony')
  let turns = 0
  const count = (): unknown => {
    turns += 1
    immediate = setImmediate(count)
    return immediate
  }
  let immediate = setImmediate(count)
  const logins = await Promise.allSettled(
    Array.from({ length: 200 }, () => passwords.verify('pony', hash)),
  )
  clearImmediate(immediate)
  const refused = logins.filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 200 - 21, 'one runs, twenty wait')
  t.match(refused[0], { reason: { name: 'Unavailable', code: 503, data: { retryAfter: 1 } } })
  t.ok(turns >= 20, `others had ${turns} turns beside 21 hashes`)
  t.match(await passwords.verify('pony', hash), { isCorrect: true }, 'and goes on')
})

t.test('lets those wait who are patient', async (t) => {
  const passwords = new Passwords({ ...CHEAP_SCRYPT, concurrency: 2, maxQueued: 1 }, 'scrypt')
  const hashes = Array.from({ length: 20 }, () => passwords.hash('pony', { isPatient: true }))
  t.equal(new Set(await Promise.all(hashes)).size, 20)
})

t.test('what waits ends with its caller, and what has begun with itself (RES-11)', async (t) => {
  const passwords = new Passwords({ ...CHEAP_SCRYPT, concurrency: 1 }, 'scrypt')
  const controller = new AbortController()
  const { signal } = controller
  const count = await countScrypt(async () => {
    const hashes = Array.from({ length: 5 }, () => passwords.hash('pony', { signal }))
    const settling = Promise.allSettled(hashes)
    const next = passwords.hash('pony')
    controller.abort(new Error('gone'))
    const gone = { status: 'rejected', reason: { message: 'gone' } }
    t.match(await settling, [{ status: 'fulfilled' }, gone, gone, gone, gone])
    await t.resolves(next)
    await t.rejects(passwords.hash('pony', { signal }), { message: 'gone' })
  })
  t.equal(count, 2)
})

t.test('a new hash of the same password names the one that it replaces', async (t) => {
  const scrypt = new Passwords(CHEAP_SCRYPT, 'scrypt')
  const stronger = new Passwords({ ...CHEAP_SCRYPT, cost: 2 ** 11 }, 'stronger')
  const byBcrypt = new Passwords({}, 'bcrypt', { hash: 'bcrypt' })
  const outdated = [await scrypt.hash('pony'), await bcrypt.hash('pony', 4)]
  for (const before of outdated) {
    const [name = ''] = nameHash(before)
    for (const passwords of [stronger, byBcrypt]) {
      const after = await passwords.hash('pony', {}, before)
      t.match(await passwords.verify('pony', after), { isCorrect: true, isOutdated: false })
      t.equal(nameHash(after)[1], name)
      t.not(nameHash(after)[0], name)
      t.equal(after, await passwords.hash('pony', {}, before), 'at the same time, too')
      t.notOk(nameHash(await passwords.hash('pony')).includes(name), 'another password does not')
    }
  }
})

t.test('a salt is random where the hash before had none', async (t) => {
  const passwords = new Passwords(CHEAP_SCRYPT, 'scrypt')
  for (const before of ['', '1a1dc91c907325c69271ddf0c944bc72', '$2b$10$short', '$scrypt$']) {
    const hashes = [
      await passwords.hash('pony', {}, before),
      await passwords.hash('pony', {}, before),
    ]
    t.not(hashes[0], hashes[1], before)
    t.equal(nameHash(before).length, 1)
  }
  t.strictSame(nameHash(undefined), nameHash(null))
})
