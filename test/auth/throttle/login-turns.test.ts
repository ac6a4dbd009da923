import t from 'tap'
import { LoginTurns } from '../../../src/auth/throttle/login-throttle.ts'
import { holdTimers } from '../../support/clock.ts'
import { until } from '../../support/until.ts'

const wait = () => new Promise(setImmediate)

t.test('runs logins of one address two at a time, and those of others beside', async (t) => {
  const turns = new LoginTurns()
  const running: Record<string, number> = {}
  const login = (address: string) =>
    turns.run(address, async () => {
      running[address] = (running[address] ?? 0) + 1
      t.ok((running[address] ?? 0) <= 2, address)
      await wait()
      running[address] -= 1
      return address
    })
  const addresses = Array.from({ length: 50 }, (_, index) => `192.0.2.${index}`)
  const names = [...addresses, '192.0.2.0', '192.0.2.0', '192.0.2.0']
  t.strictSame(await Promise.all(names.map(login)), names)
  await wait()
  t.equal(turns.size, 0, 'nothing is kept')
})

t.test('goes on after a login that fails', async (t) => {
  const turns = new LoginTurns()
  const failing = turns.run('192.0.2.1', () => Promise.reject(new Error('no')))
  const next = turns.run('192.0.2.1', async () => 'next')
  await t.rejects(failing, { message: 'no' })
  t.equal(await next, 'next')
  t.equal(turns.size, 0)
})

t.test('logins that hang do not hold up others from their address', async (t) => {
  const timers = holdTimers(t, 5000)
  const turns = new LoginTurns()
  const finish: ((value: string) => void)[] = []
  const hang = () =>
    turns.run('192.0.2.1', () => new Promise<string>((resolve) => finish.push(resolve)))
  const hanging = [hang(), hang()]
  const next = turns.run('192.0.2.1', async () => 'next')
  await until(() => timers.size === 2)
  timers.fire()
  t.equal(await next, 'next')
  for (const end of finish) end('late')
  t.strictSame(await Promise.all(hanging), ['late', 'late'])
})

t.test('refuses more than fifty that wait', async (t) => {
  const turns = new LoginTurns()
  const logins = Array.from({ length: 60 }, () => turns.run('192.0.2.1', () => wait()))
  const settled = await Promise.allSettled(logins)
  const refused = settled.filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 8)
  t.match(refused[0], { reason: { code: 429, data: { retryAfter: 1 } } })
})
