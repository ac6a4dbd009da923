/**
 * Services on collections of MongoDB.
 * @module remex/mongodb
 */

export type { DriverOptions } from './driver-options.ts'
export type {
  AnyCollection,
  MongoDBOptions,
  MongoDBSettings,
  MultiMethod,
  Paginate,
  QueryFilter,
  QueryLimits,
} from './mongodb-options.ts'
export { resolveMongoDBOptions } from './mongodb-options.ts'
export type { MongoDBParams } from './mongodb-params.ts'
export type { PatchData } from './mongodb-service.ts'
export { MongoDBService } from './mongodb-service.ts'
export type { AdapterId } from './object-id.ts'
