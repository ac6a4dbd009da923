/**
 * Services over Socket.IO, as clients of Feathers call them, and events by channels.
 * @module remex/socketio
 */

export type { Channel, ChannelMembers, ChannelPublisher } from './channels.ts'
export type { Connection, ServiceSocket } from './connection.ts'
export { socketio } from './socketio.ts'
export type { SocketCallback, SocketioOptions } from './socketio-options.ts'
