import t from 'tap'

import { ReadSignal, toAbortError } from '../../../src/adapter/connection/read-signal.ts'
import { BadRequest, Timeout } from '../../../src/core/errors/index.ts'
import type { Params } from '../../../src/core/params.ts'

/** Params like those of a request, whose signal is made when it is asked for. */
class RequestParams implements Params {
  asked = 0
  readonly controller = new AbortController()

  get signal(): AbortSignal {
    this.asked += 1
    return this.controller.signal
  }
}

function listen(signal: ReadSignal): unknown[] {
  const heard: unknown[] = []
  signal.addEventListener('abort', function listener() {
    heard.push(this.reason)
  })
  return heard
}

t.test('there is nothing to follow without a signal', async (t) => {
  t.equal(ReadSignal.follow({}, {}), null)
  t.equal(ReadSignal.follow({ signal: undefined }, {}), null)
})

t.test('follows a signal that stands in the params at once', async (t) => {
  const controller = new AbortController()
  const followed = ReadSignal.follow({ signal: controller.signal }, {})
  t.ok(followed)
  const heard = listen(followed as ReadSignal)
  const reason = new Error('gone')
  controller.abort(reason)
  t.strictSame([followed?.aborted, followed?.reason, heard], [true, reason, [reason]])
  t.throws(() => followed?.throwIfAborted(), /gone/)
})

t.test('is aborted from the start when the signal is', async (t) => {
  const followed = ReadSignal.follow({ signal: AbortSignal.abort('gone') }, {})
  t.match(followed, { aborted: true, reason: 'gone' })
})

t.test('asks a request for its signal only when the read takes a moment', async (t) => {
  const short = new RequestParams()
  const ended = ReadSignal.follow(short, {})
  ended?.end()
  const long = new RequestParams()
  const followed = ReadSignal.follow(long, {}) as ReadSignal
  const heard = listen(followed)
  long.controller.abort('gone')
  await new Promise<void>((resolve) => followed.addEventListener('abort', resolve))
  t.strictSame([long.asked, heard, followed.aborted], [1, ['gone'], true])
  t.strictSame([short.asked, ended?.aborted], [0, false])
})

t.test('tells nobody who has stopped to listen, and nothing after its end', async (t) => {
  const controller = new AbortController()
  const followed = ReadSignal.follow({ signal: controller.signal }, {}) as ReadSignal
  const heard: string[] = []
  const listener = (): void => void heard.push('removed')
  followed.addEventListener('abort', listener)
  followed.removeEventListener('abort', listener)
  const other = ReadSignal.follow({ signal: controller.signal }, {}) as ReadSignal
  other.addEventListener('abort', () => void heard.push('ended'))
  other.end()
  controller.abort()
  t.strictSame([heard, followed.aborted, other.aborted], [[], true, false])
  t.doesNotThrow(() => other.throwIfAborted())
})

t.test('an aborted read is no fault of the server', async (t) => {
  const gone = new BadRequest('The client has gone')
  t.equal(toAbortError(gone), gone)
  t.match(toAbortError(AbortSignal.abort().reason), { code: 400, message: /aborted/ })
  t.match(toAbortError('anything'), { code: 400, cause: 'anything' })
  const timeout = new DOMException('secret', 'TimeoutError')
  t.match(toAbortError(timeout), { code: 408, message: 'The call took too long' })
  t.ok(toAbortError(timeout) instanceof Timeout)
})
