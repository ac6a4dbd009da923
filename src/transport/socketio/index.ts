/**
 * Services over Socket.IO, for clients of Feathers, with events by channels.
 * @module remex/socketio
 */

export type { Channel, ChannelMembers, ChannelPublisher } from './channels.ts'
export type { Connection, ServiceSocket } from './connection.ts'
export type { SocketCallback, SocketioOptions } from './socketio.ts'
export { socketio } from './socketio.ts'
