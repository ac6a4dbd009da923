/**
 * Services on collections of MongoDB.
 * @module remex/mongodb
 */

export type { ConnectOptions } from './connection/connect-mongodb.ts'
export { connectMongoDB } from './connection/connect-mongodb.ts'
export type { DriverOptions, PipelineStage } from './driver-options.ts'
export type { NewRecord, PatchData } from './hookless-service.ts'
export { keywordObjectId } from './ids/object-id-keyword.ts'
export type { ObjectIdQuery } from './ids/object-id-resolvers.ts'
export { resolveObjectId, resolveQueryObjectId } from './ids/object-id-resolvers.ts'
export { ObjectIdSchema } from './ids/object-id-schema.ts'
export type {
  AnyCollection,
  MongoDBOptions,
  MongoDBOptions as MongoDBAdapterOptions,
  MongoDBSettings,
  MultiMethod,
  PageSize,
  Paginate,
  Paginate as PaginationOptions,
  QueryFilter,
  QueryLimits,
} from './mongodb-options.ts'
export type { MongoDBParams, MongoDBParams as MongoDBAdapterParams } from './mongodb-params.ts'
export { MongoDBListService, MongoDBService } from './mongodb-service.ts'
export type { AdapterId, NullableAdapterId } from './object-id.ts'
export { resolveMongoDBOptions } from './resolve-options.ts'
export type { TransactionFunction } from './transactions/run-transaction.ts'
export type { TransactionOptions } from './transactions/transaction.ts'
export { transaction } from './transactions/transaction.ts'
export type { UnreadParams, WriteCount } from './writes/unread-write.ts'
