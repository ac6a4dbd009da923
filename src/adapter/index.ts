/**
 * Services on collections of MongoDB.
 * @module remex/mongodb
 */

export type { ConnectOptions } from './connection/connect-mongodb.ts'
export { connectMongoDB } from './connection/connect-mongodb.ts'
export type { MongoEventsOptions } from './events/mongo-events.ts'
export { mongoEvents } from './events/mongo-events.ts'
export type { WatchOptions } from './events/watch-collection.ts'
export { watchCollection } from './events/watch-collection.ts'
export type { NewRecord, PatchData } from './hookless-service.ts'
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
export type {
  DriverOptions,
  MongoDBParams,
  MongoDBParams as MongoDBAdapterParams,
  PipelineStage,
} from './mongodb-params.ts'
export type { InferredMongoDBService } from './mongodb-service.ts'
export { MongoDBListService, MongoDBService } from './mongodb-service.ts'
export type { AdapterId, NullableAdapterId, ObjectIdQuery } from './object-id.ts'
export {
  keywordObjectId,
  ObjectIdSchema,
  resolveObjectId,
  resolveQueryObjectId,
} from './object-id.ts'
export type { AuditEntry, AuditOptions } from './record-hooks/audit.ts'
export { audit } from './record-hooks/audit.ts'
export type { IdempotentOptions } from './record-hooks/idempotent.ts'
export { idempotent } from './record-hooks/idempotent.ts'
export { limitTo } from './record-hooks/limit-to.ts'
export type { SoftDeleteOptions } from './record-hooks/soft-delete.ts'
export { softDelete } from './record-hooks/soft-delete.ts'
export type { TimestampsOptions, WrittenByOptions } from './record-hooks/stamps.ts'
export { createdBy, timestamps, updatedBy } from './record-hooks/stamps.ts'
export type { StoredAnswer } from './record-hooks/stored-answer.ts'
export { resolveMongoDBOptions } from './resolve-options.ts'
export type { TransactionOptions } from './transactions/transaction.ts'
export { transaction } from './transactions/transaction.ts'
export type { TransactionFunction } from './transactions/transaction-attempt.ts'
export type { UnreadParams, WriteCount } from './writes/write-many.ts'
