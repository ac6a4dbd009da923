/**
 * A server in this process that speaks MongoDB's protocol, for quick starts and tests.
 * @module remex/embedded
 */

export type { EmbeddedMongo, EmbeddedMongoOptions } from './server.ts'
export { startEmbeddedMongo } from './server.ts'
