/**
 * Services on collections of MongoDB.
 * @module remex/mongodb
 */

export type { DriverOptions } from './driver-options.ts'
export type { PatchData } from './hookless-methods.ts'
export type {
  AnyCollection,
  MongoDBOptions,
  MongoDBSettings,
  MultiMethod,
  Paginate,
  QueryFilter,
  QueryLimits,
} from './mongodb-options.ts'
export type { MongoDBParams } from './mongodb-params.ts'
export { MongoDBService } from './mongodb-service.ts'
export type { AdapterId } from './object-id.ts'
export { resolveMongoDBOptions } from './resolve-options.ts'
