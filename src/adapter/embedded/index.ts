export type { EmbeddedMongo, EmbeddedMongoOptions } from './server.ts'
export { startEmbeddedMongo } from './server.ts'
