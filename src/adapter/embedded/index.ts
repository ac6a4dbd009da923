export { startEmbeddedMongo } from './server.ts'
export type { EmbeddedMongo, EmbeddedMongoOptions } from './server.ts'
