import t from 'tap'
import { createMessageReader } from '../../../../src/adapter/embedded/protocol/message.ts'

function toMessage(length: number, fill = 0): Buffer {
  const message = Buffer.alloc(length, fill)
  message.writeInt32LE(length, 0)
  return message
}

/** Returns the messages in these pieces, and how many bytes were copied to put them together. */
function readCounting(chunks: Iterable<Buffer>): { messages: Buffer[]; copied: number } {
  const { copy } = Buffer.prototype
  const { concat } = Buffer
  let copied = 0
  Buffer.prototype.copy = function count(this: Buffer, ...args: Parameters<typeof copy>) {
    const bytes = copy.apply(this, args)
    copied += bytes
    return bytes
  }
  Buffer.concat = (list, total) => {
    const whole = concat(list, total)
    copied += whole.length
    return whole
  }
  try {
    const read = createMessageReader()
    const messages: Buffer[] = []
    for (const chunk of chunks) messages.push(...read(chunk))
    return { messages, copied }
  } finally {
    Buffer.prototype.copy = copy
    Buffer.concat = concat
  }
}

function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

t.test('a large message in small pieces is copied about twice, however it is cut', (t) => {
  const message = toMessage(8_000_000, 7)
  for (const first of [0, 2, 10]) {
    for (const size of [3, 1460, 65_536]) {
      const rest = cut(message.subarray(first), size)
      const pieces = first === 0 ? rest : [message.subarray(0, first), ...rest]
      const { messages, copied } = readCounting(pieces)
      t.ok(messages.length === 1 && messages[0]?.equals(message))
      t.ok(copied <= 3 * message.length, `${copied} bytes in pieces of ${first}, then ${size}`)
    }
  }
  t.end()
})

t.test('messages that come whole are not copied', (t) => {
  const many = Buffer.concat([toMessage(16), toMessage(40, 1), toMessage(20, 2)])
  const { messages, copied } = readCounting([many])
  t.same(
    messages.map((message) => message.length),
    [16, 40, 20],
  )
  t.equal(copied, 0)
  t.end()
})

t.test('messages are the same however their bytes are cut', (t) => {
  const all = [toMessage(16), toMessage(3000, 1), toMessage(17, 2), toMessage(5000, 3)]
  for (const size of [1, 2, 3, 5, 16, 17, 999, 8033]) {
    const { messages } = readCounting(cut(Buffer.concat(all), size))
    t.ok(messages.length === 4 && messages.every((one, at) => one.equals(all[at] as Buffer)))
  }
  t.end()
})

t.test('a length that cannot be is told as soon as it is there', (t) => {
  for (const length of [-1, 0, 4, 15, 48_000_001, -2_147_483_648, 2_147_483_647]) {
    const head = Buffer.alloc(4)
    head.writeInt32LE(length, 0)
    t.throws(() => readCounting([head]), /not allowed/)
    t.throws(() => readCounting(cut(head, 1)), /not allowed/)
    t.throws(() => readCounting([Buffer.concat([toMessage(16), head])]), /not allowed/)
  }
  t.end()
})

t.test('a length alone reserves no memory', (t) => {
  const head = toMessage(48_000_000).subarray(0, 4)
  const { alloc } = Buffer
  let reserved = 0
  Buffer.alloc = (size) => {
    reserved += size
    return alloc(size)
  }
  try {
    t.same([...createMessageReader()(head)], [])
  } finally {
    Buffer.alloc = alloc
  }
  t.ok(reserved < 10_000, `${reserved} bytes`)
  t.end()
})
