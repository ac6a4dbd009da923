import type { FastifyReply } from 'fastify'

const IS_ANSWERED: unique symbol = Symbol('remex.isAnswered')
const SEND_COUNT: unique symbol = Symbol('remex.sendCount')

interface ReplyState {
  [IS_ANSWERED]?: boolean
  /** How many times `send()` was called; set once it is being watched. */
  [SEND_COUNT]?: number
}

/** Returns whether a response has been started. `reply.sent` is true only after the last byte was written. */
export function isAnswered(reply: FastifyReply & ReplyState): boolean {
  if (reply.sent || reply.raw.headersSent) return true
  return reply[IS_ANSWERED] === true || (reply[SEND_COUNT] ?? 0) > 0
}

/**
 * Returns whether the connection of a response is closed. In HTTP/2 the response has no `destroyed`, but its stream
 * does.
 */
export function isGone(raw: Closable & { readonly stream?: Closable }): boolean {
  return raw.destroyed || raw.stream?.destroyed === true
}

interface Closable {
  readonly destroyed: boolean
}

/** Marks a reply as answered before its hooks and its stream have run. */
export function markAnswered(reply: FastifyReply & ReplyState): void {
  reply[IS_ANSWERED] = true
}

/**
 * Returns a function that tells whether something was sent since. User functions may send a response whose first byte
 * an asynchronous hook or a stream writes much later.
 */
export function watchSend(reply: FastifyReply & ReplyState): () => boolean {
  if (reply[SEND_COUNT] === undefined) countSends(reply)
  const before = reply[SEND_COUNT]
  return () => reply[SEND_COUNT] !== before || reply.sent || reply.raw.headersSent
}

function countSends(reply: FastifyReply & ReplyState): void {
  const { send } = reply
  reply[SEND_COUNT] = 0
  reply.send = (payload?: unknown): FastifyReply => {
    reply[SEND_COUNT] = (reply[SEND_COUNT] ?? 0) + 1
    return send.call(reply, payload)
  }
}
