import t from 'tap'
import { DiscoveryDocument } from '../../../../src/auth/oauth/provider/provider.ts'
import { stopClock } from '../../../support/clock.ts'

/** A document whose fetches end when the test says so. */
function createDocument() {
  const fetches: PromiseWithResolvers<string>[] = []
  const document = new DiscoveryDocument(() => {
    const fetching = withResolvers<string>()
    fetches.push(fetching)
    return fetching.promise
  })
  return { document, fetches }
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
}

function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

t.test('is fetched once for all who wait, and again after a failure', async (t) => {
  const { document, fetches } = createDocument()
  const [first, second] = [document.read(), document.read()]
  fetches[0]?.reject(new Error('unreachable'))
  await t.rejects(first, { message: 'unreachable' })
  await t.rejects(second, { message: 'unreachable' })
  const third = document.read()
  fetches[1]?.resolve('{}')
  t.equal(await third, '{}')
  t.equal(await document.read(), '{}')
  t.equal(fetches.length, 2)
})

t.test('a fetch that fails late discards no newer one', async (t) => {
  const clock = stopClock(t)
  const { document, fetches } = createDocument()
  const first = document.read()
  clock.advance(60_000)
  document.expire()
  const second = document.read()
  fetches[0]?.reject(new Error('late'))
  await t.rejects(first, { message: 'late' })
  fetches[1]?.resolve('{}')
  t.strictSame([await second, await document.read()], ['{}', '{}'])
  t.equal(fetches.length, 2)
})
