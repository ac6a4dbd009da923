import type { FastifyReply } from 'fastify'

const IS_ANSWERED: unique symbol = Symbol('remex.isAnswered')
const SEND_COUNT: unique symbol = Symbol('remex.sendCount')

interface ReplyState {
  [IS_ANSWERED]?: boolean
  /** How often `send()` was called; there once somebody watches it. */
  [SEND_COUNT]?: number
}

/**
 * Whether an answer is on its way; `reply.sent` says so only when the last byte has been written.
 */
export function isAnswered(reply: FastifyReply & ReplyState): boolean {
  if (reply.sent || reply.raw.headersSent) return true
  return reply[IS_ANSWERED] === true || (reply[SEND_COUNT] ?? 0) > 0
}

/**
 * Whether the connection of an answer is gone. The response object of HTTP/2 has no `destroyed`: its
 * stream says so.
 */
export function isGone(raw: Closable & { readonly stream?: Closable }): boolean {
  return raw.destroyed || raw.stream?.destroyed === true
}

interface Closable {
  readonly destroyed: boolean
}

/** Marks a reply as answered, before its hooks and its stream have run. */
export function markAnswered(reply: FastifyReply & ReplyState): void {
  reply[IS_ANSWERED] = true
}

/**
 * Returns a test whether something was sent since: functions that users write may send an answer of
 * which an asynchronous hook or a stream writes the first byte much later.
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
