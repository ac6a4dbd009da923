import type { Document } from 'mongodb'
import type { NewRecord } from '../../src/adapter/hookless-service.ts'
import type { MongoDBOptions, MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { CheckedService } from '../../src/adapter/mongodb-service.ts'
import type { RecordQuery } from '../../src/core/index.ts'

/** A service of which only the options say whether it has pages. */
export type AnyPaging<T extends Document> = CheckedService<
  T,
  NewRecord<T>,
  MongoDBParams<RecordQuery<T>>,
  'pages' | 'list'
>

/** Makes a service whose options differ from test to test. */
export function createAnyPaging<T extends Document>(options: MongoDBOptions): AnyPaging<T> {
  return new MongoDBService(options) as AnyPaging<Document> as unknown as AnyPaging<T>
}
